"""The end of an epoch: slow update, then meta skill, from the second epoch on."""

from etude.published.acceptance import Acceptance
from etude.published.longitudinal import compare_epochs, meta_skill, slow_update
from etude.published.options import PaperOptions
from etude.records import TrainState
from etude.run_log import RunLog
from etude.skill import token_count
from etude.workbench import Workbench


async def end_epoch(
    bench: Workbench, log: RunLog, state: TrainState, options: PaperOptions, acceptance: Acceptance
) -> TrainState:
    """Compare the skill with that of the epoch before; there is nothing to compare when they are the same."""
    config, epoch, previous, current = bench.config, state.epoch, state.epoch_skill, state.current
    optimizer = bench.optimizer()
    wanted = options.slow_update or options.meta_skill
    if previous is None or previous.hash == current.hash or not wanted:
        return state.model_copy(update={"epoch_skill": current})
    limit = config.reflect.max_trajectory_chars
    log.begin("slow_update", state.step, epoch, 2 * options.slow_update_samples)
    pairs = await compare_epochs(
        bench.rollout, (previous, current), bench.tasks["train"], options, epoch=epoch, seed=config.train.seed
    )
    log.write(f"epochs/{epoch:02d}/slow_update.json", pairs)
    if options.slow_update and pairs:
        candidate = await slow_update(optimizer, previous, current, pairs, limit)
        if candidate is not None:
            log.changes.tried([attempt for pair in pairs for attempt in (pair.previous, pair.current)])
            state = await acceptance.guided(state, candidate)
    log.end("slow_update", state.step, f"{len(pairs)} tasks compared")
    if options.meta_skill and pairs:
        log.begin("meta_skill", state.step, epoch)
        memory = await meta_skill(optimizer, (previous, current), pairs, state.ledger, state.meta_skill, limit)
        log.write(f"epochs/{epoch:02d}/meta_skill.json", {"memory": memory})
        state = state.model_copy(update={"meta_skill": memory})
        log.end("meta_skill", state.step, f"{token_count(memory)} tokens")
    return state.model_copy(update={"epoch_skill": state.current})
