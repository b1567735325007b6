"""A user's program: evaluate two skills, compare them, and repeat the training with several seeds."""

from pathlib import Path

from etude import (
    Comparison,
    StopSwitch,
    compare_skills,
    evaluate_skill,
    load_config,
    load_skill,
    make_config,
    train_seeds,
)


def main() -> None:
    config = load_config(Path("etude.yaml"))
    old, new = load_skill("skills/old"), load_skill(Path("skills/new"))
    score = evaluate_skill(config, split="val", trials=2, skill=new, switch=StopSwitch()).score
    found: Comparison = compare_skills(config, a=old, b=new, split="test", trials=3, margin=0.01, sinks=[])
    print(score.mean, found.verdict, [flip.task for flip in found.lost], found.difference.low)
    print(train_seeds(config=make_config({}), seeds=[1, 2, 3], skill=old).gain)
