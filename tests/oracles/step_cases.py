"""Training steps that a graph of a network cannot tell: what runs without gradients, in place, twice, over time, or beside the network.

Each kind makes (modules, inputs, program) at a batch; `program(*modules)` sets up its optimizers and returns the step."""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint

KINDS = {}


def kind(*variants):
    """The arguments that the kind is tried with."""
    def known(make):
        KINDS[make.__name__] = make, variants
        return make
    return known


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.GELU()]
    return nn.Sequential(*layers[:-1])


def convnet(a, c):
    return nn.Sequential(nn.Conv2d(a, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.Conv2d(c, c, 3, stride=2, padding=1),
                         nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 16))


def usual(loss_of, optimizer=None):
    """forward, loss, backward, update, gradients away."""
    def program(*modules):
        parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        update = (optimizer or (lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9)))(parameters)

        def step(*batch):
            loss = loss_of(modules, *batch)
            loss.backward()
            update.step()
            update.zero_grad()
        return step
    return program


@kind((48, 96), (96, 64), (200, 24))
def teacher_without_gradients(batch, width, out):
    def loss(modules, x):
        student, teacher = modules
        with torch.no_grad():
            wanted = teacher(x).softmax(-1)
        return F.cross_entropy(student(x), wanted)
    return (mlp(32, width, out), mlp(32, 2 * width, width, out)), (torch.randn(batch, 32),), usual(loss)


@kind((8, 0.99), (16, 0.9), (24, 0.999))
def momentum_encoder(batch, channels, momentum):
    online = convnet(3, channels)
    target = copy.deepcopy(online).requires_grad_(False)

    def program(online, target):
        update = torch.optim.AdamW(online.parameters(), lr=1e-3)

        def step(a, b):
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), online.parameters()):
                    slow.mul_(momentum).add_(fast, alpha=1 - momentum)
                key = F.normalize(target(b), dim=-1)
            query = F.normalize(online(a), dim=-1)
            loss = F.cross_entropy(query @ key.t() / 0.2, torch.arange(len(a), device=a.device))
            loss.backward()
            update.step()
            update.zero_grad(set_to_none=True)
        return step
    return (online, target), (torch.randn(batch, 3, 16, 16), torch.randn(batch, 3, 16, 16)), program


@kind((64, 3), (33, 8), (128, 1))
def shared_by_two_calls(batch, width, scale):
    def loss(modules, a, b, same):
        u, v = modules[0](a), modules[0](b)
        distance = (u - v).pow(2).sum(-1)
        return (same * distance + (1 - same) * F.relu(scale - distance)).mean()
    return (mlp(24, width, width, 16),), (torch.randn(batch, 24), torch.randn(batch, 24), torch.rand(batch)), usual(loss)


@kind((32, 16), (64, 8), (16, 48))
def two_networks_two_optimizers(batch, width, noise):
    def program(generator, critic):
        of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.5, 0.9))
        of_critic = torch.optim.RMSprop(critic.parameters(), lr=1e-4)

        def step(real):
            fake = generator(torch.randn(len(real), noise, device=real.device))
            of_critic.zero_grad()
            worse = critic(fake.detach()).mean() - critic(real).mean()
            worse.backward()
            of_critic.step()
            of_generator.zero_grad()
            better = -critic(fake).mean()
            better.backward()
            of_generator.step()
        return step
    return (mlp(noise, width, 64), mlp(64, width, width, 1)), (torch.randn(batch, 64),), program


@kind((500, 16, "sum"), (1000, 8, "mean"), (77, 32, "max"))
def embedding_bags(batch, rows, width, mode):
    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList([nn.EmbeddingBag(rows, width, mode=mode) for _ in range(3)])
            self.top = nn.Linear(3 * width, 4)

        def forward(self, ids):
            return self.top(torch.cat([bag(ids[:, k]) for k, bag in enumerate(self.bags)], 1))

    def loss(modules, ids, wanted):
        return F.binary_cross_entropy_with_logits(modules[0](ids), wanted)
    return (Towers(),), (torch.zeros(batch, 3, 5, dtype=torch.long), torch.rand(batch, 4)), usual(loss)


@kind((500, 16, "plain"), (1000, 8, "adam"), (77, 32, "adam"))
def tables_with_sparse_gradients(batch, rows, width, which):
    """A table and bags whose gradients are rows, beside a dense part with an optimizer of its own."""
    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(rows, width, sparse=True)
            self.bag = nn.EmbeddingBag(rows, width, mode="sum", sparse=True)
            self.top = nn.Linear(2 * width, 4)

        def forward(self, ids):
            return self.top(torch.cat([self.table(ids[:, 0]), self.bag(ids)], 1))

    def program(towers):
        make = {"plain": lambda ps: torch.optim.SGD(ps, lr=0.1), "adam": torch.optim.SparseAdam}[which]
        updates = [make([towers.table.weight, towers.bag.weight]), torch.optim.AdamW(towers.top.parameters())]

        def step(ids, wanted):
            F.binary_cross_entropy_with_logits(towers(ids), wanted).backward()
            for update in updates:
                update.step()
                update.zero_grad()
        return step
    return (Towers(),), (torch.zeros(batch, 5, dtype=torch.long), torch.rand(batch, 4)), program


@kind((32, 6), (48, 3), (8, 16))
def messages_over_a_graph(batch, width, degree):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(16, width, bias=False), nn.Linear(width, 5)

        def gathered(self, x, source, target):
            out = torch.zeros_like(x)
            return out.index_add(0, target, x[source])

        def forward(self, x, source, target):
            x = F.relu(self.gathered(self.inner(x), source, target))
            degrees = torch.zeros(len(x), device=x.device).scatter_add_(0, target, torch.ones(len(target), device=x.device))
            return self.outer(self.gathered(x, source, target) / degrees.clamp(min=1).unsqueeze(-1))

    def loss(modules, x, source, target, wanted):
        return F.cross_entropy(modules[0](x, source, target), wanted)
    ends = torch.zeros(batch * degree, dtype=torch.long)
    return (Network(),), (torch.randn(batch, 16), ends, ends.clone(), torch.zeros(batch, dtype=torch.long)), usual(loss)


@kind((8, "weight"), (12, "spectral"), (16, "spectral"))
def normed_weights(batch, channels, which):
    wrap = {"weight": weight_norm, "spectral": spectral_norm}[which]
    network = nn.Sequential(wrap(nn.Conv2d(3, channels, 3, padding=1)), nn.LeakyReLU(0.2, inplace=True),
                            wrap(nn.Conv2d(channels, channels, 4, stride=2, padding=1)), nn.LeakyReLU(0.2, inplace=True), nn.Flatten(),
                            wrap(nn.Linear(64 * channels, 1)))
    return (network,), (torch.randn(batch, 3, 16, 16),), usual(lambda modules, x: F.softplus(modules[0](x)).mean())


@kind((128, 64), (64, 200), (32, 32))
def losses_inside(batch, width, code):
    class Coder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = mlp(48, width, code), mlp(code, width, 48)
            self.book = nn.Embedding(40, code)

        def forward(self, x):
            z = self.encode(x)
            nearest = torch.cdist(z, self.book.weight).argmin(-1)
            q = self.book(nearest)
            commit = F.mse_loss(z, q.detach()) + F.mse_loss(q, z.detach())
            return F.smooth_l1_loss(self.decode(z + (q - z).detach()), x) + 0.25 * commit
    return (Coder(),), (torch.randn(batch, 48),), usual(lambda modules, x: modules[0](x))


@kind((64, 2), (100, 3), (40, 4))
def cut_from_the_graph(batch, width, parts):
    """Each part is trained by a loss of its own: x = x.detach()."""
    class Greedy(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(parts)])
            self.heads = nn.ModuleList([nn.Linear(width, 7) for _ in range(parts)])

        def forward(self, x, wanted):
            total = 0
            for part, head in zip(self.parts, self.heads):
                x = part(x)
                total = total + F.cross_entropy(head(x), wanted)
                x = x.detach()
            return total
    return (Greedy(),), (torch.randn(batch, width), torch.zeros(batch, dtype=torch.long)), usual(lambda modules, x, wanted: modules[0](x, wanted))


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return gradient * (gate * (1 + x * (1 - gate)))


@kind((64, 2), (24, 5), (150, 1))
def own_functions(batch, width, depth):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

        def forward(self, x):
            for layer in self.layers:
                x = x + Swish.apply(layer(x))
            return x
    return (Network(),), (torch.randn(batch, width),), usual(lambda modules, x: modules[0](x).pow(2).mean())


@kind((64, 3), (96, 2), (32, 6))
def checkpointed_inside(batch, width, depth):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                                         for _ in range(depth)])

        def forward(self, x):
            for block in self.blocks:
                x = x + checkpoint(block, x, use_reentrant=False)
            return x
    return (Network(),), (torch.randn(batch, 8, width),), usual(lambda modules, x: modules[0](x).mean(), torch.optim.AdamW)


@kind((48, 5), (32, 9), (80, 3))
def loop_over_time(batch, width, steps):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.GRUCell(12, width), nn.Linear(width, 3)

        def forward(self, x):
            state = x.new_zeros(len(x), self.cell.hidden_size)
            said = []
            for t in range(steps):
                state = self.cell(x[:, t], state)
                said.append(self.out(state))
            return torch.stack(said, 1)

    def program(network):
        update = torch.optim.Adam(network.parameters())

        def step(x, wanted):
            loss = F.mse_loss(network(x), wanted)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            update.step()
            update.zero_grad()
        return step
    return (Network(),), (torch.randn(batch, steps, 12), torch.randn(batch, steps, 3)), program


@kind((4, 64), (8, 96), (16, 48))
def low_rank_adapters(batch, rank, width):
    class Adapted(nn.Module):
        def __init__(self, a, c):
            super().__init__()
            self.base = nn.Linear(a, c).requires_grad_(False)
            self.down, self.up, self.drop = nn.Linear(a, rank, bias=False), nn.Linear(rank, c, bias=False), nn.Dropout(0.05)

        def forward(self, x):
            return self.base(x) + 2.0 * self.up(self.down(self.drop(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(width), Adapted(width, 3 * width), Adapted(width, width)
            self.norm.requires_grad_(False)

        def forward(self, x):
            b, s, _ = x.shape
            q, k, v = (t.view(b, s, 4, -1).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(b, s, width))
    network = nn.Sequential(Block(), Block())

    def program(network):
        update = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad])

        def step(x):
            for part in x.chunk(2):
                loss = network(part).pow(2).mean() / 2
                loss.backward()
            update.step()
            update.zero_grad()
        return step
    return (network,), (torch.randn(batch, 24, width),), program


def cases():
    """(name, how it is made) of every kind's every instance."""
    for name, (make, variants) in KINDS.items():
        for number, arguments in enumerate(variants, 1):
            yield f"{name}_{number}", lambda batch, make=make, arguments=arguments: make(batch, *arguments)
