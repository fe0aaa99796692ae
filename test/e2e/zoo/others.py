# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small recurrent networks, recommenders and autoencoders."""

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 61


class Recurrent(nn.Module):
    """A recurrent classifier or language model over nn.LSTM, nn.GRU or nn.RNN."""

    def __init__(self, kind="LSTM", layers=1, bidirectional=False, dropout=0.0, per_step=False, batch_first=True,
                 own_state=False, **options):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 10)
        self.rnn = getattr(nn, kind)(10, 12, layers, batch_first=batch_first, bidirectional=bidirectional,
                                     dropout=dropout, **options)
        width = 24 if bidirectional else 12
        self.fc = nn.Linear(width, VOCAB if per_step else 4)
        self.per_step, self.own_state, self.batch_first = per_step, own_state, batch_first

    def forward(self, x):
        h = self.emb(x)
        if not self.batch_first:
            h = h.transpose(0, 1)
        if self.own_state:
            zeros = torch.zeros(self.rnn.num_layers * (2 if self.rnn.bidirectional else 1), x.shape[0], 12)
            y, _ = self.rnn(h, (zeros, zeros) if isinstance(self.rnn, nn.LSTM) else zeros)
        else:
            y, state = self.rnn(h)
        if not self.batch_first:
            y = y.transpose(0, 1)
        return self.fc(y) if self.per_step else self.fc(y[:, -1])


class LastState(nn.Module):
    """Classifies by the final hidden states of both directions."""

    def __init__(self, kind="LSTM"):
        super().__init__()
        self.rnn = getattr(nn, kind)(5, 8, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        _, h = self.rnn(x)
        h = h[0] if isinstance(h, tuple) else h
        return self.fc(torch.cat((h[-2], h[-1]), dim=1))


class CellLoop(nn.Module):
    """nn.GRUCell in a Python loop."""

    def __init__(self):
        super().__init__()
        self.cell, self.fc = nn.GRUCell(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 6)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return self.fc(h)


class Dlrm(nn.Module):
    def __init__(self, mode="sum", weighted=False, tables=3, rows=40, d=8):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, d, mode=mode) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, d), nn.ReLU())
        n = tables + 1
        self.top = nn.Sequential(nn.Linear(d + n * (n - 1) // 2, 16), nn.ReLU(), nn.Linear(16, 1))
        i, j = torch.tril_indices(n, n, offset=-1)
        self.register_buffer("li", i)
        self.register_buffer("lj", j)
        self.weighted = weighted

    def forward(self, dense, sparse, weights=None):
        x = self.bottom(dense)
        parts = [x]
        for i, bag in enumerate(self.bags):
            parts.append(bag(sparse[:, i], per_sample_weights=weights[:, i] if self.weighted else None))
        t = torch.stack(parts, dim=1)
        z = torch.bmm(t, t.transpose(1, 2))
        return self.top(torch.cat([x, z[:, self.li, self.lj]], dim=1)).squeeze(1)


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Embedding(30, 1)
        self.embs = nn.ModuleList(nn.Embedding(30, 4) for _ in range(3))
        self.deep = nn.Sequential(nn.Linear(12 + 4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, ids, x):
        wide = self.wide(ids).sum(dim=1)
        deep = torch.cat([e(ids[:, i]) for i, e in enumerate(self.embs)] + [x], dim=1)
        return torch.sigmoid(wide + self.deep(deep)).squeeze(-1)


class TwoTower(nn.Module):
    """In-batch softmax over cosine similarities."""

    def __init__(self):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(50, 8), nn.Flatten(), nn.Linear(16, 8))
        self.item = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 8))
        self.temperature = nn.Parameter(torch.tensor(1.5))

    def forward(self, users, items):
        u, v = F.normalize(self.user(users), dim=-1), F.normalize(self.item(items), dim=-1)
        return u @ v.t() * self.temperature.exp()


class SaturatedMlp(nn.Module):
    """Probabilities of which float32 has few bits of 1 - p left."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(6, 12), nn.Linear(12, 1)

    def forward(self, x):
        return torch.sigmoid(self.out(torch.tanh(self.hidden(x))) + 15.0).squeeze(1)


class CosineTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(5, 8)

    def forward(self, x, y):
        return F.cosine_similarity(torch.tanh(self.a(x)), torch.tanh(self.b(y)), dim=-1)


class MatrixFactorisation(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(40, 6), nn.Embedding(50, 6)
        self.user_bias, self.item_bias = nn.Embedding(40, 1), nn.Embedding(50, 1)
        self.mean = nn.Parameter(torch.zeros(1))

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1) + self.mean


class FactorisationMachine(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.embedding = nn.Embedding(60, 1), nn.Embedding(60, 5)
        self.register_buffer("offsets", torch.tensor([0, 20, 40]))

    def forward(self, x):
        x = x + self.offsets
        e = self.embedding(x)
        pairs = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return (self.linear(x).sum(1) + pairs).squeeze(1)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 12), nn.ELU(), nn.Linear(12, 3), nn.Linear(3, 12), nn.Softplus(),
                                 nn.Linear(12, 20))

    def forward(self, x):
        return self.net(x)


class DropoutEverywhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.rnn = nn.LSTM(16, 8, 2, dropout=0.2, batch_first=True)
        self.fc = nn.Sequential(nn.Dropout(0.3), nn.Linear(8, 5))

    def forward(self, x):
        return self.fc(self.rnn(F.dropout(self.encoder(self.emb(x)), 0.1, self.training))[0][:, -1])


class WeightNormMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.weight_norm(nn.Linear(8, 16))
        self.b = nn.Linear(16, 4)

    def forward(self, x):
        return self.b(F.selu(self.a(x)))


class GraphConvolution(nn.Module):
    """A fixed normalised adjacency times features, twice."""

    def __init__(self):
        super().__init__()
        a = (torch.rand(12, 12) < 0.3).float()
        a = ((a + a.t() + torch.eye(12)) > 0).float()
        d = a.sum(1).rsqrt()
        self.register_buffer("adjacency", d[:, None] * a * d[None])
        self.w1, self.w2 = nn.Linear(7, 10, bias=False), nn.Linear(10, 3, bias=False)

    def forward(self, x):
        return self.adjacency @ self.w2(F.relu(self.adjacency @ self.w1(x)))


class NeuralOperator(nn.Module):
    """Einsum, log-sum-exp, norms, min and max: what research code is made of."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 6, 5) * 0.3)
        self.centres = nn.Parameter(torch.randn(4, 5))

    def forward(self, x):
        h = torch.einsum("bi,kij->bkj", x, self.w)
        distance = torch.linalg.vector_norm(h.mean(1)[:, None] - self.centres[None], dim=-1)
        gate = torch.logsumexp(h, dim=(1, 2), keepdim=False)[:, None]
        return torch.clamp(-distance, min=-8.0) + torch.minimum(gate, torch.ones(1)) * 0.1


class PaddedEmbedding(nn.Module):
    """Row 0 stands for padding: it takes part, but is not trained."""

    def __init__(self, d=8):
        super().__init__()
        self.emb = nn.Embedding(30, d, padding_idx=0)
        self.out = nn.Linear(d, 4)

    def forward(self, x):
        return self.out(torch.tanh(self.emb(x)).mean(1))


class StraightThrough(nn.Module):
    """A code book whose gradient goes around the choice of the code."""

    def __init__(self, d=4):
        super().__init__()
        self.encoder, self.codes, self.decoder = nn.Linear(6, d), nn.Embedding(7, d), nn.Linear(d, 6)

    def forward(self, x):
        z = self.encoder(x)
        nearest = ((z[:, None] - self.codes.weight[None]) ** 2).sum(-1).argmin(-1)
        return self.decoder(z + (self.codes(nearest) - z).detach())


class Bags(nn.Module):
    """Bags whose sizes are data."""

    def __init__(self, mode, d=6):
        super().__init__()
        self.emb = nn.EmbeddingBag(30, d, mode=mode)
        self.out = nn.Linear(d, 3)

    def forward(self, ids, offsets):
        return self.out(self.emb(ids, offsets))


class Experts(nn.Module):
    """The two best of four experts, weighted."""

    def __init__(self, d=6, experts=4):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.w = nn.Parameter(torch.randn(experts, d, 8) * 0.3)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        scores = torch.softmax(self.gate(x), -1)
        best, index = scores.topk(2, -1)
        mix = torch.zeros_like(scores).scatter(1, index, best / best.sum(-1, keepdim=True))
        return self.out(torch.relu(torch.einsum("be,bi,eio->bo", mix, x, self.w)))


class MeanOfNeighbours(nn.Module):
    """GraphSAGE: nodes average over the edges that arrive, with and without themselves."""

    def __init__(self):
        super().__init__()
        self.enter, self.inner, self.out = nn.Linear(5, 8), nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x, edges):
        for layer, include in ((self.enter, False), (self.inner, True)):
            h = layer(x)
            target = edges[1][:, None].expand(-1, h.shape[1])
            x = torch.tanh(h.scatter_reduce(0, target, h[edges[0]], "mean", include_self=include))
        return self.out(x)
