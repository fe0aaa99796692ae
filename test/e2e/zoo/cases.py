# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The zoo: models of the kinds that people train, with inputs and a loss."""

import torch

import convolutional as c
import others as o
import transformers as t


def tokens(*shape, vocabulary=t.VOCAB):
    return lambda: torch.randint(0, vocabulary, shape)


def numbers(*shape):
    return lambda: torch.randn(shape)


def positive(*shape):
    return lambda: torch.rand(shape)


def classes(count, *shape):
    return lambda: torch.randint(0, count, shape)


def bits(*shape):
    return lambda: torch.randint(0, 2, shape).float()


def image(n=4, ch=3, size=16):
    return numbers(n, ch, size, size)


def padded(b, s):
    def make():
        x = torch.randint(1, t.VOCAB, (b, s))
        for i in range(b):
            x[i, s - i % 4:] = 0
        return x
    return make


def attention_mask(b, s):
    return lambda: (torch.arange(s)[None] < torch.randint(s // 2, s + 1, (b, 1))).long()


def offsets():
    """Of four bags of ten, of which one may be empty."""
    return torch.cat([torch.zeros(1, dtype=torch.long), torch.randint(0, 11, (3,)).sort()[0]])


LM = ("cross_entropy", classes(t.VOCAB, 2, 12))

# name: (model, inputs, (loss, labels)[, options]); options: legacy (the TorchScript exporter), opset, no_check
# (compile only: random numbers), dynamic (symbols for these dimensions).
CASES = {
    "gpt2": (lambda: t.Gpt2(), {"x": tokens(2, 12)}, LM),
    "gpt2_legacy": (lambda: t.Gpt2(), {"x": tokens(2, 12)}, LM, {"legacy": True}),
    "gpt2_dynamic": (lambda: t.Gpt2(), {"x": tokens(2, 12)}, LM,
                     {"dynamic": {"x": {0: "batch", 1: "seq"}}}),
    "masked_fill": (lambda: t.MaskedFillGpt(), {"x": tokens(2, 12)}, LM),
    "masked_fill_legacy": (lambda: t.MaskedFillGpt(), {"x": tokens(2, 12)}, LM, {"legacy": True}),
    "masked_fill_dynamic": (lambda: t.MaskedFillGpt(), {"x": tokens(2, 10)}, ("cross_entropy", classes(t.VOCAB, 2, 10)),
                            {"dynamic": {"x": {0: "batch", 1: "seq"}}}),
    "llama": (lambda: t.Llama(), {"x": tokens(2, 12)}, LM),
    "llama_interleaved": (lambda: t.Llama(interleaved=True, own_norm=False), {"x": tokens(2, 12)}, LM),
    "llama_opset23": (lambda: t.Llama(own_norm=False), {"x": tokens(2, 12)}, LM, {"opset": 23}),
    "llama_legacy": (lambda: t.Llama(), {"x": tokens(2, 12)}, LM, {"legacy": True}),
    "llama_dynamic": (lambda: t.Llama(), {"x": tokens(2, 12)}, LM, {"dynamic": {"x": {0: "batch", 1: "seq"}}}),
    "sine_encoder_legacy": (lambda: t.SineEncoder(), {"x": tokens(2, 12)}, LM, {"legacy": True}),
    "encoder": (lambda: t.Encoder(), {"x": tokens(3, 9)}, ("cross_entropy", classes(5, 3))),
    "encoder_prenorm": (lambda: t.Encoder(norm_first=True, activation="gelu", mask=True), {"x": tokens(3, 9)},
                        ("cross_entropy", classes(5, 3))),
    "encoder_legacy": (lambda: t.Encoder(), {"x": tokens(3, 9)}, ("cross_entropy", classes(5, 3)), {"legacy": True}),
    "seq2seq": (lambda: t.Seq2Seq(), {"src": tokens(2, 7), "tgt": tokens(2, 6)},
                ("cross_entropy", classes(t.VOCAB, 2, 6))),
    "padded_attention": (lambda: t.PaddedAttention(), {"x": padded(4, 8)}, ("cross_entropy", classes(7, 4))),
    "local_attention_opset23": (lambda: t.LocalAttention(), {"x": padded(4, 8)},
                                ("cross_entropy", classes(t.VOCAB, 4, 8)), {"opset": 23}),
    "padded_attention_weights": (lambda: t.PaddedAttention(need_weights=True), {"x": padded(4, 8)},
                                 ("cross_entropy", classes(7, 4))),
    "bert": (lambda: t.Bert(), {"input_ids": tokens(3, 10), "attention_mask": attention_mask(3, 10),
                                "token_type_ids": tokens(3, 10, vocabulary=2)}, ("cross_entropy", classes(3, 3))),
    "bert_legacy": (lambda: t.Bert(), {"input_ids": tokens(3, 10), "attention_mask": attention_mask(3, 10),
                                       "token_type_ids": tokens(3, 10, vocabulary=2)},
                    ("cross_entropy", classes(3, 3)), {"legacy": True}),
    "bert_dynamic": (lambda: t.Bert(), {"input_ids": tokens(3, 10), "attention_mask": attention_mask(3, 10),
                                        "token_type_ids": tokens(3, 10, vocabulary=2)},
                     ("cross_entropy", classes(3, 3)),
                     {"dynamic": {n: {0: "batch", 1: "seq"} for n in ("input_ids", "attention_mask",
                                                                      "token_type_ids")}}),
    "vit": (lambda: t.Vit(), {"x": image()}, ("cross_entropy", classes(10, 4))),
    "t5": (lambda: t.T5(), {"x": tokens(3, 9)}, ("cross_entropy", classes(6, 3))),
    "mixer": (lambda: t.Mixer(), {"x": image()}, ("cross_entropy", classes(5, 4))),
    "gmlp": (lambda: t.Gmlp(), {"x": tokens(3, 10)}, ("cross_entropy", classes(4, 3))),
    "resnet50": (lambda: c.ResNet50(), {"x": image(4, 3, 32)}, ("cross_entropy", classes(6, 4))),
    "resnet50_legacy": (lambda: c.ResNet50(), {"x": image(4, 3, 32)}, ("cross_entropy", classes(6, 4)),
                        {"legacy": True}),
    "resnext": (lambda: c.ResNet50(4), {"x": image(4, 3, 32)}, ("cross_entropy", classes(6, 4))),
    "densenet": (lambda: c.DenseNet(), {"x": image(4, 3, 12)}, ("cross_entropy", classes(5, 4))),
    "efficientnet": (lambda: c.EfficientNet(), {"x": image(4, 3, 16)}, ("cross_entropy", classes(5, 4))),
    "convnext": (lambda: c.ConvNext(), {"x": image(3, 3, 24)}, ("cross_entropy", classes(5, 3))),
    "unet_bilinear": (lambda: c.UNet("bilinear"), {"x": image(2, 3, 12)}, ("cross_entropy", classes(3, 2, 12, 12))),
    "unet_nearest": (lambda: c.UNet("nearest"), {"x": image(2, 3, 12)}, ("cross_entropy", classes(3, 2, 12, 12))),
    "unet_transposed": (lambda: c.UNet("transposed"), {"x": image(2, 3, 12)},
                        ("cross_entropy", classes(3, 2, 12, 12))),
    "unet_legacy": (lambda: c.UNet("bilinear"), {"x": image(2, 3, 12)}, ("cross_entropy", classes(3, 2, 12, 12)),
                    {"legacy": True}),
    "conv_autoencoder": (lambda: c.ConvAutoencoder(), {"x": positive(3, 1, 12, 12)}, ("mse", positive(3, 1, 12, 12))),
    "group_norm": (lambda: c.GroupNormNet(), {"x": image(3, 3, 12)}, ("cross_entropy", classes(5, 3))),
    "group_norm_opset21": (lambda: c.GroupNormNet(), {"x": image(3, 3, 12)}, ("cross_entropy", classes(5, 3)),
                           {"opset": 21}),
    "tcn": (lambda: c.Tcn(), {"x": numbers(4, 4, 15)}, ("cross_entropy", classes(3, 4))),
    "pointnet": (lambda: c.PointNet(), {"x": numbers(6, 3, 10)}, ("cross_entropy", classes(5, 6))),
    "vgg": (lambda: c.Vgg(), {"x": image(4)}, ("cross_entropy", classes(4, 4))),
    "shufflenet": (lambda: c.ShuffleNet(), {"x": image(4)}, ("cross_entropy", classes(5, 4))),
    "pixel_shuffle": (lambda: c.PixelShuffleNet(), {"x": image(2, 1, 8)}, ("mse", numbers(2, 1, 16, 16))),
    "lstm": (lambda: o.Recurrent(), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3))),
    "lstm_deep": (lambda: o.Recurrent(layers=2, bidirectional=True, own_state=True), {"x": tokens(3, 8)},
                  ("cross_entropy", classes(4, 3))),
    "lstm_lm": (lambda: o.Recurrent(per_step=True, layers=2), {"x": tokens(2, 12)}, LM),
    "lstm_time_first": (lambda: o.Recurrent(batch_first=False), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3))),
    "lstm_legacy": (lambda: o.Recurrent(layers=2), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3)),
                    {"legacy": True}),
    "lstm_last_state": (lambda: o.LastState(), {"x": numbers(3, 7, 5)}, ("cross_entropy", classes(3, 3))),
    "gru": (lambda: o.Recurrent("GRU", layers=2), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3))),
    "gru_last_state": (lambda: o.LastState("GRU"), {"x": numbers(3, 7, 5)}, ("cross_entropy", classes(3, 3))),
    "rnn": (lambda: o.Recurrent("RNN", nonlinearity="relu"), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3))),
    "rnn_tanh": (lambda: o.Recurrent("RNN", bidirectional=True), {"x": tokens(3, 8)}, ("cross_entropy", classes(4, 3))),
    "cell_loop": (lambda: o.CellLoop(), {"x": numbers(3, 5, 4)}, ("cross_entropy", classes(3, 3))),
    "dlrm_sum": (lambda: o.Dlrm("sum"), {"dense": numbers(6, 5), "sparse": tokens(6, 3, 4, vocabulary=40)},
                 ("bce_with_logits", bits(6))),
    "dlrm_mean": (lambda: o.Dlrm("mean"), {"dense": numbers(6, 5), "sparse": tokens(6, 3, 4, vocabulary=40)},
                  ("bce_with_logits", bits(6))),
    "dlrm_max": (lambda: o.Dlrm("max"), {"dense": numbers(6, 5), "sparse": tokens(6, 3, 4, vocabulary=40)},
                 ("bce_with_logits", bits(6))),
    "dlrm_weighted": (lambda: o.Dlrm("sum", True), {"dense": numbers(6, 5), "sparse": tokens(6, 3, 4, vocabulary=40),
                                                    "weights": positive(6, 3, 4)}, ("bce_with_logits", bits(6))),
    "dlrm_legacy": (lambda: o.Dlrm("mean"), {"dense": numbers(6, 5), "sparse": tokens(6, 3, 4, vocabulary=40)},
                    ("bce_with_logits", bits(6)), {"legacy": True}),
    "wide_and_deep": (lambda: o.WideAndDeep(), {"ids": tokens(6, 3, vocabulary=30), "x": numbers(6, 4)},
                      ("bce", bits(6))),
    "two_tower": (lambda: o.TwoTower(), {"users": tokens(5, 2, vocabulary=50), "items": numbers(5, 6)},
                  ("cross_entropy", lambda: torch.arange(5))),
    "two_tower_legacy": (lambda: o.TwoTower(), {"users": tokens(5, 2, vocabulary=50), "items": numbers(5, 6)},
                         ("cross_entropy", lambda: torch.arange(5)), {"legacy": True}),
    "saturated": (lambda: o.SaturatedMlp(), {"x": numbers(8, 6)}, ("bce", bits(8))),
    "cosine_tower": (lambda: o.CosineTower(), {"x": numbers(5, 6), "y": numbers(5, 5)}, ("mse", numbers(5))),
    "matrix_factorisation": (lambda: o.MatrixFactorisation(), {"u": tokens(9, vocabulary=40),
                                                               "i": tokens(9, vocabulary=50)}, ("mse", numbers(9))),
    "factorisation_machine": (lambda: o.FactorisationMachine(), {"x": tokens(6, 3, vocabulary=20)},
                              ("bce_with_logits", bits(6))),
    "autoencoder": (lambda: o.Autoencoder(), {"x": numbers(6, 20)}, ("mse", numbers(6, 20))),
    "dropout_everywhere": (lambda: o.DropoutEverywhere(), {"x": tokens(3, 7)}, ("cross_entropy", classes(5, 3)),
                           {"no_check": True}),
    "padded_embedding": (lambda: o.PaddedEmbedding(), {"x": tokens(5, 6, vocabulary=9)},
                         ("cross_entropy", classes(4, 5))),
    "straight_through": (lambda: o.StraightThrough(), {"x": numbers(5, 6)}, ("mse", numbers(5, 6))),
    "bags_sum_legacy": (lambda: o.Bags("sum"), {"ids": tokens(10, vocabulary=30), "offsets": offsets},
                        ("cross_entropy", classes(3, 4)), {"legacy": True}),
    "bags_mean": (lambda: o.Bags("mean"), {"ids": tokens(10, vocabulary=30), "offsets": offsets},
                  ("cross_entropy", classes(3, 4))),
    "bags_max": (lambda: o.Bags("max"), {"ids": tokens(10, vocabulary=30), "offsets": offsets},
                 ("cross_entropy", classes(3, 4))),
    "experts": (lambda: o.Experts(), {"x": numbers(5, 6)}, ("cross_entropy", classes(3, 5))),
    "unpool": (lambda: c.Unpool(), {"x": numbers(2, 2, 8, 6)}, ("cross_entropy", classes(3, 2, 8, 6))),
    "volume": (lambda: c.Volume(), {"x": numbers(2, 2, 4, 6, 5)}, ("cross_entropy", classes(5, 2))),
    "volume_legacy": (lambda: c.Volume(), {"x": numbers(2, 2, 4, 6, 5)}, ("cross_entropy", classes(5, 2)),
                      {"legacy": True}),
    "weight_norm": (lambda: o.WeightNormMlp(), {"x": numbers(6, 8)}, ("cross_entropy", classes(4, 6))),
    "graph_convolution": (lambda: o.GraphConvolution(), {"x": numbers(12, 7)}, ("cross_entropy", classes(3, 12))),
    "mean_of_neighbours": (lambda: o.MeanOfNeighbours(), {"x": numbers(10, 5), "edges": classes(10, 2, 24)},
                           ("cross_entropy", classes(4, 10))),
    "neural_operator": (lambda: o.NeuralOperator(), {"x": numbers(5, 6)}, ("cross_entropy", classes(4, 5))),
}
