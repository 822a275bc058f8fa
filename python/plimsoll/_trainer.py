"""plimsoll.from_trainer(): the step of a Trainer of transformers or Lightning, or of an Accelerator, made of what it holds."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._record import Dims, StepModel, from_step

Step = Callable[..., Any]


def from_trainer(trainer: Any, batch: Any = None, dims: Mapping[str | int, Dims] | None = None, *, model: Any = None,
                 capability: tuple[int, int] = (8, 0)) -> StepModel:
    """The step that `trainer` would take, recorded as from_step() records any.

        plimsoll.from_trainer(trainer).estimate(gpu="a100-sxm4-80gb")            # transformers, trl
        plimsoll.from_trainer(trainer, model=module).estimate(gpu="t4")         # Lightning
        plimsoll.from_trainer(accelerator, batch).estimate(gpu="t4")            # accelerate, after prepare()

    Precision, accumulation, clipping, checkpointing and optimizers are the trainer's. `batch`: what its loader gives; without it
    one is taken from the loader. `dims` and `capability` as from_step() has them. The trainer is left as it was.
    """
    makers = {"transformers": _of_transformers, "lightning": _of_lightning, "pytorch_lightning": _of_lightning, "accelerate": _of_accelerate}
    for kind in type(trainer).__mro__:
        maker = makers.get(kind.__module__.partition(".")[0])
        if maker is not None:
            break
    else:
        raise TypeError(f"{type(trainer).__name__} is no Trainer of transformers or Lightning and no Accelerator: give from_step its step")
    step, inputs, undo = maker(trainer, model, batch)
    try:
        return from_step(step, inputs, dims, capability=capability)
    finally:
        undo()


def _nothing() -> None:
    pass


def _first(loader: Any) -> Any:
    if loader is None:
        raise ValueError("no batch: the trainer has no loader to take one from; give batch=...")
    if isinstance(loader, Mapping):
        loader = next(iter(loader.values()))
    return next(iter(loader[0] if isinstance(loader, (list, tuple)) else loader))


def _of_transformers(trainer: Any, model: Any, batch: Any) -> tuple[Step, Any, Callable[[], None]]:
    """What Trainer._run_epoch() does for an update (transformers 4.46 and later)."""
    import torch

    given = _first(trainer.get_train_dataloader()) if batch is None else batch
    held = trainer.optimizer, trainer.lr_scheduler
    network = model if model is not None else trainer.model
    if trainer.optimizer is None:
        trainer.create_optimizer()
    update, arguments, accelerator = trainer.optimizer, trainer.args, trainer.accelerator
    steps = arguments.gradient_accumulation_steps
    prepared: list[Any] = []

    def prepare() -> Any:
        if arguments.gradient_checkpointing:
            network.gradient_checkpointing_enable(gradient_checkpointing_kwargs=arguments.gradient_checkpointing_kwargs)
        arguments.__dict__["_setup_devices"] = torch.device("cuda", 0)  # a cached property
        trainer.current_gradient_accumulation_steps = steps
        trainer._tr_loss = torch.zeros((), device="cuda")
        return accelerator.prepare_model(network)

    def step(**inputs: Any) -> None:
        if not prepared:
            prepared.append(prepare())
        counts = getattr(trainer, "model_accepts_loss_kwargs", False) or getattr(trainer, "compute_loss_func", None) is not None
        items = torch.ones((), dtype=torch.int64, device="cuda") if counts and "labels" in inputs else None
        for _ in range(steps):
            loss = trainer.training_step(prepared[0], dict(inputs), items)
            trainer._tr_loss += loss
        if arguments.max_grad_norm:
            accelerator.clip_grad_norm_(prepared[0].parameters(), arguments.max_grad_norm)
        update.step()
        prepared[0].zero_grad()

    def undo() -> None:
        trainer.optimizer, trainer.lr_scheduler = held

    return step, given, undo


def _of_accelerate(accelerator: Any, model: Any, batch: Any) -> tuple[Step, Any, Callable[[], None]]:
    """The loop of accelerate's manual; a model without a loss of its own is for from_step()."""
    models, updates = accelerator._models, accelerator._optimizers
    if len(models) != 1 or not updates:
        raise ValueError(f"the Accelerator has prepared {len(models)} models and {len(updates)} optimizers: give from_step the step of your loop")
    given = _first(accelerator._dataloaders or None) if batch is None else batch
    network = models[0]

    def step(*args: Any, **kwargs: Any) -> None:
        for _ in range(accelerator.gradient_accumulation_steps):
            accelerator.backward(_loss(network(*args, **kwargs)))
        for update in updates:
            update.optimizer.step()
            update.optimizer.zero_grad()

    return step, given, _nothing


def _loss(outputs: Any) -> Any:
    import torch

    if isinstance(outputs, torch.Tensor):
        found = outputs
    else:
        found = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
    if not isinstance(found, torch.Tensor) or found.dim():
        raise ValueError("the model returns no loss: give from_step the step of your loop")
    return found


def _of_lightning(trainer: Any, model: Any, batch: Any) -> tuple[Step, Any, Callable[[], None]]:
    """Lightning's automatic optimization: gradients go after the forward pass, as its closure has it; and its manual one."""
    module = model if model is not None else trainer.lightning_module
    if module is None:
        raise ValueError("the trainer has no module before fit(): give model=...")
    loader = module.train_dataloader if batch is None and "train_dataloader" in type(module).__dict__ else None
    given = _first(loader() if loader else None) if batch is None else batch
    precision = trainer.precision_plugin
    if getattr(module, "_trainer", None) is None:
        module._trainer = trainer
        undo: Callable[[], None] = lambda: setattr(module, "_trainer", None)  # noqa: E731
    else:
        undo = _nothing
    try:
        optimizers = _optimizers(module.configure_optimizers())
    except BaseException:
        undo()
        raise
    prepared: list[bool] = []

    def prepare() -> None:
        module._trainer = None
        module.log = module.log_dict = lambda *_, **__: None
        module.optimizers = lambda *_, **__: optimizers[0] if len(optimizers) == 1 else optimizers
        module.lr_schedulers = lambda: None
        module.manual_backward = lambda loss, *args, **kwargs: loss.backward(*args, **kwargs)
        module.clip_gradients = lambda update, *_, **__: _clip(trainer, update)
        precision.convert_module(module).train()
        prepared.append(True)

    def loss_of(batches: Any, number: int) -> Any:
        with precision.train_step_context():
            said = module.training_step(batches, number)
        return said["loss"] if isinstance(said, Mapping) else said

    def step(batches: Any) -> None:
        if not prepared:
            prepare()
        if not module.automatic_optimization:
            loss_of(batches, 0)
            return
        update, several = optimizers[0], trainer.accumulate_grad_batches
        for number in range(several):
            loss = loss_of(batches, number) / several
            if number == 0:
                update.zero_grad()
            loss.backward()
        _clip(trainer, update)
        update.step()

    return step, (given,), undo


def _clip(trainer: Any, update: Any) -> None:
    import torch

    parameters = [p for group in update.param_groups for p in group["params"]]
    if trainer.gradient_clip_val:
        by_value = str(getattr(trainer.gradient_clip_algorithm, "value", trainer.gradient_clip_algorithm)) == "value"
        clip = torch.nn.utils.clip_grad_value_ if by_value else torch.nn.utils.clip_grad_norm_
        clip(parameters, trainer.gradient_clip_val)


def _optimizers(said: Any) -> Sequence[Any]:
    """What configure_optimizers() may return, as Lightning has it: one, several, dicts, a pair of lists."""
    import torch

    if isinstance(said, torch.optim.Optimizer):
        return [said]
    if isinstance(said, Mapping):
        return [said["optimizer"]]
    if isinstance(said, tuple) and len(said) == 2 and isinstance(said[0], list):
        return list(said[0])
    if isinstance(said, (list, tuple)):
        return [one for part in said for one in _optimizers(part)]
    raise ValueError("configure_optimizers() returns no optimizer")
