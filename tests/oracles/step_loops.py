"""Training steps as people write them who know of no recorder: each is the body of its loop, in the form of step_networks.py."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

from step_cases import convnet, mlp
from step_networks import network


@network
def contrast_with_a_queue(batch, width=32, length=192):
    """MoCo: keys of a slow encoder, a queue of older keys as a buffer that is written in place, autocast and a scaler, three parts added up."""
    class Queue(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", F.normalize(torch.randn(16, length), dim=0))

    fast = convnet(3, width)

    def program(fast, slow, queue):
        update = torch.optim.SGD(fast.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
        scaler = None

        def step(first, second):
            nonlocal scaler
            scaler = scaler or torch.amp.GradScaler("cuda")  # which turns itself off where no card is
            for a, b in zip(first.chunk(3), second.chunk(3)):
                with torch.no_grad():
                    for p, q in zip(fast.parameters(), slow.parameters()):
                        q.mul_(0.999).add_(p, alpha=0.001)
                with torch.autocast("cuda", dtype=torch.float16):
                    query = F.normalize(fast(a), dim=1)
                    with torch.no_grad():
                        key = F.normalize(slow(b[torch.randperm(len(b), device=b.device)]), dim=1)
                    alike = torch.einsum("nc,nc->n", query, key).unsqueeze(-1)
                    others = torch.einsum("nc,ck->nk", query, queue.keys.clone().detach())
                    logits = torch.cat([alike, others], dim=1) / 0.07
                    loss = F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long, device=a.device)) / 3
                scaler.scale(loss).backward()
                with torch.no_grad():
                    queue.keys.copy_(torch.cat([key.float().T, queue.keys[:, :-len(b)]], 1))
            scaler.unscale_(update)
            nn.utils.clip_grad_norm_(fast.parameters(), 1.0)
            scaler.step(update)
            scaler.update()
            update.zero_grad(set_to_none=True)
        return step
    pictures = torch.randn(4 * batch, 3, 32, 32)
    return (fast, copy.deepcopy(fast).requires_grad_(False), Queue()), (pictures, pictures.clone()), program


@network
def proximal_policy(batch, seen=24, actions=6, epochs=2):
    """PPO: advantages over a rollout from its end to its start, then epochs over shuffled minibatches, clipped in policy and value."""
    def program(policy, value):
        update = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-4, eps=1e-5)

        def step(states, taken, rewards, done):
            with torch.no_grad():
                worth = value(states).squeeze(-1)
                before = torch.distributions.Categorical(logits=policy(states)).log_prob(taken)
                advantages, last = torch.zeros_like(rewards), torch.zeros(rewards.shape[1], device=rewards.device)
                for t in reversed(range(len(rewards) - 1)):
                    change = rewards[t] + 0.99 * worth[t + 1] * (1 - done[t]) - worth[t]
                    last = change + 0.99 * 0.95 * (1 - done[t]) * last
                    advantages[t] = last
                returns = (advantages + worth).flatten()
            flat, chosen, was, gain, was_worth = states.flatten(0, 1), taken.flatten(), before.flatten(), advantages.flatten(), worth.flatten()
            for _ in range(epochs):
                order = torch.randperm(len(flat), device=flat.device)
                for part in order.chunk(4):
                    now = torch.distributions.Categorical(logits=policy(flat[part]))
                    ratio = (now.log_prob(chosen[part]) - was[part]).exp()
                    one = gain[part]
                    one = (one - one.mean()) / (one.std() + 1e-8)
                    of_policy = torch.max(-one * ratio, -one * ratio.clamp(0.8, 1.2)).mean()
                    found = value(flat[part]).squeeze(-1)
                    near = was_worth[part] + (found - was_worth[part]).clamp(-0.2, 0.2)
                    of_value = 0.5 * torch.max((found - returns[part]) ** 2, (near - returns[part]) ** 2).mean()
                    loss = of_policy + 0.5 * of_value - 0.01 * now.entropy().mean()
                    update.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_([*policy.parameters(), *value.parameters()], 0.5)
                    update.step()
        return step
    return ((mlp(seen, 64, 64, actions), mlp(seen, 64, 64, 1)),
            (torch.randn(16, 4 * batch, seen), torch.zeros(16, 4 * batch, dtype=torch.long), torch.randn(16, 4 * batch), torch.zeros(16, 4 * batch)), program)


@network
def adversaries_with_averages(batch, noise=32, width=16):
    """A GAN that does not saturate: a penalty on the critic's gradients, an average of the generator's weights and buffers, two optimizers."""
    generator = nn.Sequential(nn.Linear(noise, 4 * width * 16), nn.Unflatten(1, (4 * width, 4, 4)), nn.BatchNorm2d(4 * width), nn.ReLU(True),
                              nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(True),
                              nn.ConvTranspose2d(2 * width, 3, 4, 2, 1), nn.Tanh())
    critic = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.LeakyReLU(0.2, True),
                           nn.Flatten(), nn.Linear(2 * width * 16, 1))

    def program(generator, critic, average):
        of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.0, 0.99))
        of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.99))

        def step(real):
            critic.requires_grad_(True)
            real = real.detach().requires_grad_(True)
            with torch.no_grad():
                made = generator(torch.randn(len(real), noise, device=real.device))
            of_real = critic(real)
            slope, = torch.autograd.grad(of_real.sum(), real, create_graph=True)
            loss = F.softplus(-of_real).mean() + F.softplus(critic(made)).mean() + 5.0 * slope.square().sum([1, 2, 3]).mean()
            of_critic.zero_grad(set_to_none=True)
            loss.backward()
            of_critic.step()
            critic.requires_grad_(False)
            loss = F.softplus(-critic(generator(torch.randn(len(real), noise, device=real.device)))).mean()
            of_generator.zero_grad(set_to_none=True)
            loss.backward()
            of_generator.step()
            with torch.no_grad():
                for slow, fast in zip(average.parameters(), generator.parameters()):
                    slow.lerp_(fast, 0.002)
                for slow, fast in zip(average.buffers(), generator.buffers()):
                    slow.copy_(fast)
        return step
    return (generator, critic, copy.deepcopy(generator).requires_grad_(False)), (torch.randn(4 * batch, 3, 16, 16),), program
