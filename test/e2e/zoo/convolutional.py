# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small convolutional networks, each written the way that people write its kind."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(i, o, k=3, s=1, g=1, act=nn.ReLU):
    layers = [nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, i, mid, o, stride=1, groups=1):
        super().__init__()
        self.a, self.b = conv_bn(i, mid, 1), conv_bn(mid, mid, 3, stride, groups)
        self.c = conv_bn(mid, o, 1, act=None)
        self.down = conv_bn(i, o, 1, stride, act=None) if i != o or stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.c(self.b(self.a(x))) + self.down(x))


class ResNet50(nn.Module):
    """The stem with max pooling, bottleneck blocks, adaptive average pooling; groups make it a ResNeXt."""

    def __init__(self, groups=1):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Bottleneck(8, 8, 16, groups=groups), Bottleneck(16, 8, 16, groups=groups),
                                    Bottleneck(16, 16, 32, 2, groups))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(32, 6)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class DenseNet(nn.Module):
    def __init__(self, growth=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        width, self.blocks = 8, nn.ModuleList()
        for _ in range(3):
            self.blocks.append(nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, 8, 1, bias=False),
                                             nn.BatchNorm2d(8), nn.ReLU(),
                                             nn.Conv2d(8, growth, 3, 1, 1, bias=False)))
            width += growth
        self.transition = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, 10, 1, bias=False),
                                        nn.AvgPool2d(2))
        self.norm, self.fc = nn.BatchNorm2d(10), nn.Linear(10, 5)

    def forward(self, x):
        features = [self.stem(x)]
        for block in self.blocks:
            features.append(block(torch.cat(features, 1)))
        x = F.relu(self.norm(self.transition(torch.cat(features, 1))))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class SqueezeExcite(nn.Module):
    def __init__(self, c, r):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(c, r, 1), nn.Conv2d(r, c, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.fc2(F.silu(self.fc1(s))))


class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, 2, act=nn.SiLU)
        self.blocks = nn.ModuleList()
        for i, o, s in ((8, 8, 1), (8, 12, 2)):
            self.blocks.append(nn.Sequential(conv_bn(i, 3 * i, 1, act=nn.SiLU),
                                             conv_bn(3 * i, 3 * i, 5, s, 3 * i, act=nn.SiLU),
                                             SqueezeExcite(3 * i, 4), conv_bn(3 * i, o, 1, act=None)))
        self.head = conv_bn(12, 20, 1, act=nn.SiLU)
        self.fc = nn.Linear(20, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            y = block(x)
            x = x + y if y.shape == x.shape else y
        return self.fc(self.head(x).mean([2, 3]))


class LayerNorm2d(nn.Module):
    """ConvNeXt's channels-first norm."""

    def __init__(self, c):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNext(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 4, 4), LayerNorm2d(c))
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "dw": nn.Conv2d(c, c, 7, padding=3, groups=c), "norm": nn.LayerNorm(c, eps=1e-6),
            "up": nn.Linear(c, 4 * c), "down": nn.Linear(4 * c, c)}) for _ in range(2))
        self.gamma = nn.ParameterList(nn.Parameter(0.1 * torch.ones(c)) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(c, eps=1e-6), nn.Linear(c, 5)

    def forward(self, x):
        x = self.stem(x)
        for block, gamma in zip(self.blocks, self.gamma):
            y = block["norm"](block["dw"](x).permute(0, 2, 3, 1))
            y = gamma * block["down"](F.gelu(block["up"](y)))
            x = x + y.permute(0, 3, 1, 2)
        return self.head(self.norm(x.mean([-2, -1])))


class UNet(nn.Module):
    """One level down and up; the labels are a class per pixel."""

    def __init__(self, up):
        super().__init__()
        self.down1 = nn.Sequential(conv_bn(3, 6), conv_bn(6, 6))
        self.down2 = nn.Sequential(conv_bn(6, 12), conv_bn(12, 12))
        if up == "bilinear":
            self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                                    nn.Conv2d(12, 6, 1))
        elif up == "nearest":
            self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(12, 6, 3, padding=1))
        else:
            self.up = nn.ConvTranspose2d(12, 6, 2, 2)
        self.out = nn.Sequential(conv_bn(12, 6), nn.Conv2d(6, 3, 1))

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(F.max_pool2d(a, 2)))
        return self.out(torch.cat([b, a], dim=1))


class ConvAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 3, 2, 1), nn.ReLU())
        self.decoder = nn.Sequential(nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.ReLU(),
                                     nn.ConvTranspose2d(4, 1, 3, 2, 1, output_padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


class GroupNormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.SiLU(),
                                 nn.Conv2d(8, 8, 3, 2, 1), nn.GroupNorm(1, 8), nn.Mish(),
                                 nn.InstanceNorm2d(8, affine=True), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(),
                                 nn.Linear(32, 5))

    def forward(self, x):
        return self.net(x)


class Tcn(nn.Module):
    """Causal dilated 1-D convolutions with weight norm's absence and residuals."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(i, 8, 3, dilation=d) for i, d in ((4, 1), (8, 2), (8, 4)))
        self.down = nn.Conv1d(4, 8, 1)
        self.bn = nn.BatchNorm1d(8)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        h = x
        for conv in self.convs:
            y = F.relu(conv(F.pad(h, (2 * conv.dilation[0], 0))))
            h = y + (self.down(h) if h.shape[1] != 8 else h)
        return self.fc(self.bn(h)[:, :, -1])


class PointNet(nn.Module):
    """Shared 1-D convolutions, a predicted transform, a maximum over the points."""

    def __init__(self):
        super().__init__()
        self.t1, self.t2 = nn.Conv1d(3, 12, 1), nn.Linear(12, 9)
        self.c1, self.c2 = nn.Conv1d(3, 12, 1), nn.Conv1d(12, 24, 1)
        self.b1, self.b2 = nn.BatchNorm1d(12), nn.BatchNorm1d(24)
        self.fc = nn.Sequential(nn.Linear(24, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 5))

    def forward(self, x):
        t = torch.max(F.relu(self.t1(x)), 2)[0]
        t = self.t2(t).view(-1, 3, 3) + torch.eye(3)
        x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        x = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        return self.fc(torch.amax(x, 2))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(True),
                                      nn.MaxPool2d(2, 2), nn.Conv2d(6, 8, 3, padding=1), nn.LeakyReLU(0.1),
                                      nn.MaxPool2d(2, 2))
        self.classifier = nn.Sequential(nn.Linear(8 * 16, 20), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(20, 10),
                                        nn.PReLU(), nn.Linear(10, 4))

    def forward(self, x):
        return self.classifier(self.features(x).view(x.size(0), -1))


class ShuffleNet(nn.Module):
    """Channel split and shuffle, global max pooling."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, 2)
        self.branch = nn.Sequential(conv_bn(4, 4, 1), conv_bn(4, 4, 3, 1, 4, act=None), conv_bn(4, 4, 1))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        a, b = x.chunk(2, dim=1)
        x = torch.cat((a, self.branch(b)), dim=1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)
        return self.fc(F.adaptive_max_pool2d(x, 1).flatten(1))


class PixelShuffleNet(nn.Module):
    """Super-resolution by PixelShuffle."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.Tanh(), nn.Conv2d(8, 4, 3, padding=1),
                                 nn.PixelShuffle(2))

    def forward(self, x):
        return self.net(x)


class Unpool(nn.Module):
    """Up again to where the maxima were, as SegNet does."""

    def __init__(self, c=4):
        super().__init__()
        self.enter, self.inner = nn.Conv2d(2, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.out = nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x):
        x, places = F.max_pool2d(F.relu(self.enter(x)), 2, return_indices=True)
        return self.out(F.max_unpool2d(F.relu(self.inner(x)), places, 2))


class Volume(nn.Module):
    """Three spatial dimensions, down and up again."""

    def __init__(self, c=6):
        super().__init__()
        self.down = nn.Sequential(nn.Conv3d(2, c, 3, padding=1, bias=False), nn.BatchNorm3d(c), nn.ReLU(),
                                  nn.MaxPool3d((2, 2, 1)), nn.Conv3d(c, c, (3, 1, 2), (2, 1, 1), (1, 0, 0), groups=2))
        self.up = nn.ConvTranspose3d(c, 4, (3, 2, 2), (2, 2, 1), (1, 0, 0), (1, 0, 0))
        self.pool = nn.AvgPool3d(2, (2, 2, 1), padding=(1, 0, 1))
        self.out = nn.Linear(4, 5)

    def forward(self, x):
        return self.out(torch.tanh(self.pool(self.up(self.down(x)))).amax((2, 3, 4)))
