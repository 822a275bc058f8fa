"""Networks over graphs, points, tables and volumes as people write them, each with the step that trains it."""
import torch
import torch.nn.functional as F
from torch import nn

from step_cases import mlp, usual
from step_networks import adamw, classes, crossed, network


def ends(batch, degree=6):
    at = torch.zeros(batch * degree, dtype=torch.long)
    return at, at.clone()


@network
def graph_attention(batch, width=24, heads=3):
    class Layer(nn.Module):
        def __init__(self, inner, outer):
            super().__init__()
            self.inner = nn.Linear(inner, heads * outer, bias=False)
            self.of_source, self.of_target = (nn.Parameter(torch.randn(1, heads, outer)) for _ in range(2))

        def forward(self, x, source, target):
            x = self.inner(x).view(len(x), heads, -1)
            score = F.leaky_relu((x * self.of_source).sum(-1)[source] + (x * self.of_target).sum(-1)[target], 0.2)
            at = target.unsqueeze(-1).expand_as(score)
            highest = score.new_full((len(x), heads), -1e9).scatter_reduce(0, at, score, "amax")
            score = (score - highest[target]).exp()
            total = torch.zeros_like(highest).scatter_add(0, at, score)
            score = F.dropout(score / (total[target] + 1e-16), 0.2)
            return torch.zeros_like(x).index_add_(0, target, x[source] * score.unsqueeze(-1)).flatten(1)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.out = Layer(16, width), Layer(heads * width, width), nn.Linear(heads * width, 7)

        def forward(self, x, source, target):
            return self.out(F.elu(self.second(F.elu(self.first(x, source, target)), source, target)))

    def loss(modules, x, source, target, wanted, trained):
        return F.cross_entropy(modules[0](x, source, target)[trained], wanted[trained])
    return (Network(),), (torch.randn(batch, 16), *ends(batch), classes(batch), torch.ones(batch, dtype=torch.bool)), usual(loss, torch.optim.Adam)


@network
def graph_isomorphism(batch):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            widths = (16, 32, 32, 32)
            self.parts = nn.ModuleList([nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Linear(b, b), nn.ReLU()) for a, b in zip(widths, widths[1:])])
            self.shares = nn.Parameter(torch.zeros(3))
            self.out = nn.Linear(96, 2)

        def forward(self, x, source, target, graph):
            read = []
            for share, part in zip(self.shares, self.parts):
                x = part((1 + share) * x + torch.zeros_like(x).index_add(0, target, x.index_select(0, source)))
                read.append(x.new_zeros(4, x.shape[1]).index_add(0, graph, x))
            return self.out(torch.cat(read, 1))
    return (Network(),), (torch.randn(batch, 16), *ends(batch), torch.zeros(batch, dtype=torch.long), classes(4)), usual(
        lambda modules, x, source, target, graph, wanted: F.cross_entropy(modules[0](x, source, target, graph), wanted), torch.optim.Adam)


@network
def continuous_filters(batch, width=32):
    """SchNet: energies, and forces as their derivative, which is trained too."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.filters, self.inner, self.outer = mlp(20, width, width), nn.Linear(width, width, bias=False), mlp(width, width, width)

        def forward(self, x, basis, source, target):
            return x + self.outer(torch.zeros_like(x).index_add(0, target, self.inner(x)[source] * self.filters(basis)))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds, self.blocks, self.out = nn.Embedding(10, width), nn.ModuleList([Block(), Block()]), mlp(width, width, 1)
            self.register_buffer("centres", torch.linspace(0, 5, 20))

        def forward(self, kinds, places, source, target):
            away = (places[source] - places[target]).pow(2).sum(-1).add(1e-6).sqrt()
            basis = torch.exp(-10 * (away.unsqueeze(-1) - self.centres).pow(2))
            x = self.kinds(kinds)
            for block in self.blocks:
                x = block(x, basis, source, target)
            return self.out(x).sum()

    def loss(modules, kinds, places, source, target, forces):
        places.requires_grad_()
        energy = modules[0](kinds, places, source, target)
        found, = torch.autograd.grad(energy, places, create_graph=True)
        return F.mse_loss(-found, forces) + energy.pow(2)
    return (Network(),), (classes(batch), torch.randn(batch, 3), *ends(batch), torch.randn(batch, 3)), usual(loss, adamw)


@network
def points(batch, count=64):
    """PointNet++'s first half: neighbours by distance, the strongest of each."""
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.near = nn.Sequential(nn.Conv2d(3, 32, 1), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.Conv2d(32, 64, 1), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
            self.out = mlp(64, 32, 8)

        def forward(self, x):
            centres = x[:, ::4]
            at = torch.cdist(centres, x).topk(8, largest=False).indices
            groups = torch.gather(x.unsqueeze(1).expand(-1, centres.shape[1], -1, -1), 2, at.unsqueeze(-1).expand(-1, -1, -1, 3)) - centres.unsqueeze(2)
            return self.out(self.near(groups.permute(0, 3, 1, 2)).amax(-1).amax(-1))
    return (Network(),), (torch.randn(batch, count, 3), classes(batch)), usual(crossed, torch.optim.Adam)


@network
def recommender(batch):
    """DLRM: tables with sparse gradients beside dense parts, an optimizer for each."""
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList([nn.EmbeddingBag(rows, 16, mode="sum", sparse=True) for rows in (1000, 300, 50)])
            self.dense, self.top = mlp(13, 32, 16), mlp(16 + 6, 32, 1)

        def forward(self, x, ids):
            parts = torch.stack([self.dense(x), *(table(ids[:, at]) for at, table in enumerate(self.tables))], 1)
            pairs = torch.bmm(parts, parts.transpose(1, 2))
            row, column = torch.tril_indices(4, 4, -1, device=x.device)
            return self.top(torch.cat([parts[:, 0], pairs[:, row, column]], 1)).squeeze(-1)

    def program(network):
        sparse = torch.optim.SparseAdam(list(network.tables.parameters()))
        dense = torch.optim.Adagrad([*network.dense.parameters(), *network.top.parameters()])

        def step(x, ids, wanted):
            loss = F.binary_cross_entropy_with_logits(network(x, ids), wanted)
            loss.backward()
            for update in (sparse, dense):
                update.step()
                update.zero_grad()
        return step
    return (Network(),), (torch.randn(batch, 13), torch.zeros(batch, 3, 4, dtype=torch.long), torch.rand(batch)), program


@network
def volumes(batch, width=8):
    """A U-Net of three dimensions under autocast with a scaler."""
    def pair(a, b):
        return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True),
                             nn.Conv3d(b, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.low = nn.ModuleList([pair(1, width), pair(width, 2 * width)]), pair(2 * width, 4 * width)
            self.up = nn.ModuleList([nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.ConvTranspose3d(2 * width, width, 2, 2)])
            self.joined, self.out = nn.ModuleList([pair(4 * width, 2 * width), pair(2 * width, width)]), nn.Conv3d(width, 3, 1)

        def forward(self, x):
            kept = []
            for part in self.down:
                x = part(x)
                kept.append(x)
                x = F.max_pool3d(x, 2)
            x = self.low(x)
            for up, part in zip(self.up, self.joined):
                x = part(torch.cat([up(x), kept.pop()], 1))
            return self.out(x)

    def program(network):
        update, scaler = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.99, nesterov=True), None

        def step(x, wanted):
            nonlocal scaler
            scaler = scaler or torch.amp.GradScaler("cuda", init_scale=1024.0)  # which turns itself off where no card is
            with torch.autocast("cuda", dtype=torch.float16):
                found = network(x)
                soft, hard = found.softmax(1), F.one_hot(wanted, 3).movedim(-1, 1)
                dice = 2 * (soft * hard).sum((2, 3, 4)) / (soft + hard).sum((2, 3, 4)).clamp(min=1e-5)
                loss = F.cross_entropy(found, wanted) + 1 - dice.mean()
            scaler.scale(loss).backward()
            scaler.unscale_(update)
            nn.utils.clip_grad_norm_(network.parameters(), 12)
            scaler.step(update)
            scaler.update()
            update.zero_grad(set_to_none=True)
        return step
    return (Network(),), (torch.randn(batch, 1, 16, 16, 16), torch.zeros(batch, 16, 16, 16, dtype=torch.long)), program


@network
def flows(batch, width=32):
    """RealNVP: exact likelihoods, halves in turn."""
    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([mlp(8, width, width, 16) for _ in range(4)])

        def forward(self, x):
            total = x.new_zeros(len(x))
            for at, part in enumerate(self.parts):
                kept, changed = x.chunk(2, 1) if at % 2 else x.chunk(2, 1)[::-1]
                scale, shift = part(kept).chunk(2, 1)
                scale = scale.tanh()
                x = torch.cat([kept, changed * scale.exp() + shift], 1)
                total = total + scale.sum(1)
            return x, total

    def loss(modules, x):
        z, total = modules[0](x)
        return -(torch.distributions.Normal(0, 1, validate_args=False).log_prob(z).sum(1) + total).mean()
    return (Flow(),), (torch.randn(batch, 16),), usual(loss, torch.optim.Adam)


@network
def critic_with_penalty(batch):
    """WGAN-GP: a gradient of a gradient."""
    def program(critic):
        update = torch.optim.Adam(critic.parameters(), betas=(0.0, 0.9))

        def step(real, fake):
            share = torch.rand(len(real), 1, 1, 1, device=real.device)
            between = (share * real + (1 - share) * fake).requires_grad_()
            slope, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            loss = critic(fake).mean() - critic(real).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).pow(2).mean()
            update.zero_grad()
            loss.backward()
            update.step()
        return step
    critic = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(512, 1))
    return (critic,), (torch.randn(batch, 3, 16, 16), torch.randn(batch, 3, 16, 16)), program


@network
def speech_separation(batch):
    """Conv-TasNet."""
    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.part = nn.Sequential(nn.Conv1d(32, 64, 1), nn.PReLU(), nn.GroupNorm(1, 64), nn.Conv1d(64, 64, 3, padding=dilation, dilation=dilation, groups=64),
                                      nn.PReLU(), nn.GroupNorm(1, 64), nn.Conv1d(64, 32, 1))

        def forward(self, x):
            return x + self.part(x)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Conv1d(1, 32, 16, 8, bias=False), nn.ConvTranspose1d(32, 1, 16, 8, bias=False)
            self.blocks, self.masks = nn.Sequential(*[Block(2 ** k) for k in range(4)]), nn.Conv1d(32, 64, 1)

        def forward(self, x):
            coded = self.encode(x.unsqueeze(1))
            masks = self.masks(self.blocks(coded)).sigmoid().unflatten(1, (2, 32))
            return self.decode((masks * coded.unsqueeze(1)).flatten(0, 1)).unflatten(0, (-1, 2)).squeeze(2)

    def loss(modules, mixed, wanted):
        found = modules[0](mixed)
        share = (found * wanted).sum(-1, keepdim=True) * wanted / (wanted.pow(2).sum(-1, keepdim=True) + 1e-8)
        return -10 * torch.log10(share.pow(2).sum(-1) / ((found - share).pow(2).sum(-1) + 1e-8) + 1e-8).mean()
    return (Network(),), (torch.randn(batch, 800), torch.randn(batch, 2, 800)), usual(loss, torch.optim.Adam)


@network
def language_by_lstm(batch):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.cell, self.drop = nn.Embedding(300, 48), nn.LSTM(48, 48, 2, dropout=0.2, batch_first=True), nn.Dropout(0.2)
            self.out = nn.Linear(48, 300)
            self.out.weight = self.words.weight

        def forward(self, ids):
            return self.out(self.drop(self.cell(self.drop(self.words(ids)))[0]))
    return (Network(),), (torch.zeros(batch, 20, dtype=torch.long), torch.zeros(batch, 20, dtype=torch.long)), usual(
        lambda modules, ids, wanted: F.cross_entropy(modules[0](ids).flatten(0, 1), wanted.flatten()), lambda ps: torch.optim.SGD(ps, lr=20))


@network
def learned_to_learn(batch):
    """MAML: an update inside the step, through which gradients flow."""
    def loss(modules, x, y):
        net, = modules
        weights = dict(net.named_parameters())
        inner = F.mse_loss(torch.func.functional_call(net, weights, (x,)), y)
        slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        changed = {name: w - 0.01 * g for (name, w), g in zip(weights.items(), slopes)}
        return F.mse_loss(torch.func.functional_call(net, changed, (x,)), y)
    return (mlp(4, 40, 40, 1),), (torch.randn(batch, 4), torch.randn(batch, 1)), usual(loss, torch.optim.Adam)


@network
def soft_actor_critic(batch):
    """Four networks, three optimizers and an average, in turn."""
    def program(actor, first, second, slow):
        of_actor = torch.optim.Adam(actor.parameters())
        of_critics = torch.optim.Adam([*first.parameters(), *second.parameters()])
        temperature = torch.zeros(1, requires_grad=True, device=next(actor.parameters()).device)
        of_temperature = torch.optim.Adam([temperature])

        def acted(state):
            mean, spread = actor(state).chunk(2, -1)
            spread = spread.clamp(-5, 2).exp()
            action = mean + spread * torch.randn_like(mean)
            return action.tanh(), (-((action - mean) / spread).pow(2) / 2 - spread.log()).sum(-1, keepdim=True)

        def step(state, action, reward, after):
            with torch.no_grad():
                following, likely = acted(after)
                wanted = reward + 0.99 * (slow(torch.cat([after, following], 1)) - temperature.exp() * likely)
            pair = torch.cat([state, action], 1)
            loss = F.mse_loss(first(pair), wanted) + F.mse_loss(second(pair), wanted)
            of_critics.zero_grad()
            loss.backward()
            of_critics.step()
            taken, likely = acted(state)
            both = torch.cat([state, taken], 1)
            loss = (temperature.exp().detach() * likely - torch.min(first(both), second(both))).mean()
            of_actor.zero_grad()
            loss.backward()
            of_actor.step()
            loss = -(temperature.exp() * (likely.detach() - 2)).mean()
            of_temperature.zero_grad()
            loss.backward()
            of_temperature.step()
            with torch.no_grad():
                torch._foreach_lerp_(list(slow.parameters()), list(first.parameters()), 0.005)
        return step
    modules = mlp(12, 48, 8), mlp(16, 48, 1), mlp(16, 48, 1), mlp(16, 48, 1).requires_grad_(False)
    return modules, (torch.randn(batch, 12), torch.randn(batch, 4), torch.randn(batch, 1), torch.randn(batch, 12)), program
