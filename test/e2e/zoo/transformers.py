# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small transformers, each written the way that people write its kind."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 61


class Gpt2(nn.Module):
    """Learned positions, pre-norm, tanh gelu, the output tied to the embedding."""

    def __init__(self, d=32, heads=4, layers=2, context=16):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, d)
        self.wpe = nn.Embedding(context, d)
        self.h = nn.ModuleList()
        for _ in range(layers):
            self.h.append(nn.ModuleDict({
                "ln_1": nn.LayerNorm(d), "c_attn": nn.Linear(d, 3 * d), "c_proj": nn.Linear(d, d),
                "ln_2": nn.LayerNorm(d), "c_fc": nn.Linear(d, 4 * d), "mlp_proj": nn.Linear(4 * d, d)}))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, VOCAB, bias=False)
        self.lm_head.weight = self.wte.weight
        self.heads = heads

    def forward(self, x):
        b, t = x.shape
        h = self.wte(x) + self.wpe(torch.arange(t, device=x.device))
        for block in self.h:
            q, k, v = block["c_attn"](block["ln_1"](h)).split(h.size(-1), dim=2)
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + block["c_proj"](y.transpose(1, 2).contiguous().view(b, t, -1))
            h = h + block["mlp_proj"](F.gelu(block["c_fc"](block["ln_2"](h)), approximate="tanh"))
        return self.lm_head(self.ln_f(h))


class MaskedFillGpt(nn.Module):
    """Attention by hand: a tril buffer, masked_fill with -inf, softmax, dropout of 0."""

    def __init__(self, d=24, heads=3, context=12):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(1, context, d) * 0.1)
        self.key, self.query, self.value = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.proj = nn.Linear(d, d)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ffwd = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d), nn.Dropout(0.0))
        self.register_buffer("tril", torch.tril(torch.ones(context, context)))
        self.head = nn.Linear(d, VOCAB)
        self.heads = heads

    def forward(self, idx):
        b, t = idx.shape
        x = self.emb(idx) + self.pos[:, :t]
        n = self.ln1(x)
        q, k, v = (f(n).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:t, :t] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        x = x + self.proj((wei @ v).transpose(1, 2).reshape(b, t, -1))
        x = x + self.ffwd(self.ln2(x))
        return self.head(x)


class RmsNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Llama(nn.Module):
    """Rotary positions, RMS norm, SwiGLU, grouped-query attention by repeat_interleave or expand."""

    def __init__(self, d=32, heads=4, kv_heads=2, layers=2, interleaved=False, own_norm=True):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.heads, self.kv_heads, self.dim, self.interleaved = heads, kv_heads, d // heads, interleaved
        norm = RmsNorm if own_norm else nn.RMSNorm
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.ModuleDict({
                "input_norm": norm(d), "q": nn.Linear(d, d, bias=False),
                "k": nn.Linear(d, kv_heads * self.dim, bias=False),
                "v": nn.Linear(d, kv_heads * self.dim, bias=False), "o": nn.Linear(d, d, bias=False),
                "post_norm": norm(d), "gate": nn.Linear(d, 48, bias=False),
                "up": nn.Linear(d, 48, bias=False), "down": nn.Linear(48, d, bias=False)}))
        self.norm = norm(d)
        self.out = nn.Linear(d, VOCAB, bias=False)
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, self.dim, 2).float() / self.dim),
                             persistent=False)

    def rotate(self, x, cos, sin):
        if not self.interleaved:
            return x * cos + rotate_half(x) * sin
        pairs = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
        return x * cos + pairs * sin

    def forward(self, ids):
        b, t = ids.shape
        h = self.emb(ids)
        freqs = torch.outer(torch.arange(t, device=ids.device).float(), self.inv_freq)
        angles = freqs.repeat_interleave(2, -1) if self.interleaved else torch.cat((freqs, freqs), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer["input_norm"](h)
            q = layer["q"](x).view(b, t, self.heads, self.dim).transpose(1, 2)
            k = layer["k"](x).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
            v = layer["v"](x).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
            q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
            group = self.heads // self.kv_heads
            if self.interleaved:
                k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
            else:
                k, v = (y[:, :, None].expand(b, self.kv_heads, group, t, self.dim)
                        .reshape(b, self.heads, t, self.dim) for y in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + layer["o"](y.transpose(1, 2).reshape(b, t, -1))
            x = layer["post_norm"](h)
            h = h + layer["down"](F.silu(layer["gate"](x)) * layer["up"](x))
        return self.out(self.norm(h))


class LocalAttention(nn.Module):
    """Keys near the query that are no padding: a query among padding sees none."""

    def __init__(self, d=16, heads=2, window=2):
        super().__init__()
        self.emb, self.qkv, self.out = nn.Embedding(VOCAB, d), nn.Linear(d, 3 * d), nn.Linear(d, VOCAB)
        self.heads, self.window = heads, window

    def forward(self, x):
        b, s = x.shape
        h = self.emb(x)
        q, k, v = (y.view(b, s, self.heads, -1).transpose(1, 2) for y in self.qkv(h).chunk(3, -1))
        position = torch.arange(s)
        near = (position[:, None] - position[None]).abs() < self.window
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=near & (x != 0)[:, None, None])
        return self.out(h + y.transpose(1, 2).reshape(b, s, -1))


class SineEncoder(nn.Module):
    """Positions by a buffer of sines, as PyTorch's tutorial has them."""

    def __init__(self, d=16, context=20):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        angles = torch.arange(context).unsqueeze(1) * torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(context, 1, d)
        pe[:, 0, 0::2], pe[:, 0, 1::2] = torch.sin(angles), torch.cos(angles)
        self.register_buffer("pe", pe)
        layer = nn.TransformerEncoderLayer(d, 2, 2 * d, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.decoder = nn.Linear(d, VOCAB)

    def forward(self, x):
        h = self.emb(x.t()) * math.sqrt(self.emb.embedding_dim)
        h = h + self.pe[:h.size(0)]
        return self.decoder(self.encoder(h)).transpose(0, 1)


class Encoder(nn.Module):
    """nn.TransformerEncoder over embedded tokens, mean-pooled."""

    def __init__(self, d=24, norm_first=False, activation="relu", mask=False):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        layer = nn.TransformerEncoderLayer(d, 3, 40, dropout=0.0, activation=activation, batch_first=True,
                                           norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(d, 5)
        self.mask = mask

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if self.mask else None
        return self.fc(self.encoder(self.emb(x), mask=mask, is_causal=self.mask).mean(1))


class Seq2Seq(nn.Module):
    """nn.Transformer with a causal decoder."""

    def __init__(self, d=16):
        super().__init__()
        self.src, self.tgt = nn.Embedding(VOCAB, d), nn.Embedding(VOCAB, d)
        self.transformer = nn.Transformer(d, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.out(self.transformer(self.src(src), self.tgt(tgt), tgt_mask=mask, tgt_is_causal=True))


class PaddedAttention(nn.Module):
    """nn.MultiheadAttention with a key_padding_mask made from the tokens."""

    def __init__(self, d=24, need_weights=False):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=0)
        self.attention = nn.MultiheadAttention(d, 4, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, 7)
        self.need_weights = need_weights

    def forward(self, x):
        pad = x == 0
        h = self.emb(x)
        y, _ = self.attention(h, h, h, key_padding_mask=pad, need_weights=self.need_weights)
        h = self.norm(h + y)
        keep = (~pad).unsqueeze(-1).float()
        return self.fc((h * keep).sum(1) / keep.sum(1).clamp(min=1))


class Bert(nn.Module):
    """Token types, positions and an attention mask from the data; a pooled class token."""

    def __init__(self, d=32, heads=4, layers=2):
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(VOCAB, d), nn.Embedding(24, d), nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d, eps=1e-12)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.ModuleDict({
                "query": nn.Linear(d, d), "key": nn.Linear(d, d), "value": nn.Linear(d, d),
                "dense": nn.Linear(d, d), "norm1": nn.LayerNorm(d, eps=1e-12), "up": nn.Linear(d, 2 * d),
                "down": nn.Linear(2 * d, d), "norm2": nn.LayerNorm(d, eps=1e-12)}))
        self.pooler = nn.Linear(d, d)
        self.classifier = nn.Linear(d, 3)
        self.heads = heads
        self.register_buffer("position_ids", torch.arange(24).expand((1, -1)))

    def forward(self, input_ids, attention_mask, token_type_ids):
        b, t = input_ids.shape
        h = self.word(input_ids) + self.kind(token_type_ids) + self.position(self.position_ids[:, :t])
        h = self.norm(h)
        mask = (1.0 - attention_mask[:, None, None, :].to(h.dtype)) * torch.finfo(h.dtype).min
        for layer in self.layers:
            q, k, v = (layer[n](h).view(b, t, self.heads, -1).permute(0, 2, 1, 3)
                       for n in ("query", "key", "value"))
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + mask
            context = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous().view(b, t, -1)
            h = layer["norm1"](layer["dense"](context) + h)
            h = layer["norm2"](layer["down"](F.gelu(layer["up"](h))) + h)
        return self.classifier(torch.tanh(self.pooler(h[:, 0])))


class Vit(nn.Module):
    """Patches by convolution, a class token, nn.TransformerEncoder with pre-norm."""

    def __init__(self, d=24):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 17, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1) + self.pos
        return self.head(self.norm(self.encoder(x))[:, 0])


class T5(nn.Module):
    """Relative position bias by buckets, no scaling, RMS norm, a trained bias in attention."""

    def __init__(self, d=24, heads=3):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.bias = nn.Embedding(8, heads)
        self.norm1, self.norm2 = RmsNorm(d), RmsNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.wi, self.wo = nn.Linear(d, 48, bias=False), nn.Linear(48, d, bias=False)
        self.out = nn.Linear(d, 6)
        self.heads = heads

    @staticmethod
    def bucket(relative, buckets=8, longest=20):
        buckets //= 2
        result = (relative > 0).long() * buckets
        relative = relative.abs()
        exact = buckets // 2
        large = exact + (torch.log(relative.float() / exact + 1e-9) / math.log(longest / exact)
                         * (buckets - exact)).long()
        return result + torch.where(relative < exact, relative, large.clamp(max=buckets - 1))

    def forward(self, ids):
        b, t = ids.shape
        h = self.emb(ids)
        position = torch.arange(t)
        bias = self.bias(self.bucket(position[None, :] - position[:, None])).permute(2, 0, 1)[None]
        x = self.norm1(h)
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        p = F.softmax((q @ k.transpose(2, 3) + bias).float(), dim=-1)
        h = h + self.o((p @ v).transpose(1, 2).reshape(b, t, -1))
        h = h + self.wo(F.relu(self.wi(self.norm2(h))))
        return self.out(h.mean(1))


class Mixer(nn.Module):
    def __init__(self, d=16, tokens=16):
        super().__init__()
        self.stem = nn.Conv2d(3, d, 4, 4)
        self.blocks = nn.ModuleList(nn.ModuleList([
            nn.LayerNorm(d), nn.Sequential(nn.Linear(tokens, 24), nn.GELU(), nn.Linear(24, tokens)),
            nn.LayerNorm(d), nn.Sequential(nn.Linear(d, 32), nn.GELU(), nn.Linear(32, d))]) for _ in range(2))
        self.norm, self.fc = nn.LayerNorm(d), nn.Linear(d, 5)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for norm1, token, norm2, channel in self.blocks:
            x = x + token(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + channel(norm2(x))
        return self.fc(self.norm(x).mean(1))


class Gmlp(nn.Module):
    def __init__(self, d=16, tokens=10):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.norm, self.gate_norm = nn.LayerNorm(d), nn.LayerNorm(2 * d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(2 * d, d)
        self.spatial = nn.Conv1d(tokens, tokens, 1)
        self.fc = nn.Linear(d, 4)

    def forward(self, x):
        h = self.emb(x)
        u, v = F.gelu(self.up(self.norm(h))).chunk(2, dim=-1)
        h = h + self.down(u * self.spatial(self.gate_norm(v)))
        return self.fc(h.mean(1))
