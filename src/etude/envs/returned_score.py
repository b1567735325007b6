"""Scores that come with an attempt, because whoever made it has scored it."""

from collections.abc import Sequence

from etude.records import Message, Score, TextPart, Trajectory

_MARK = "etude-score"


def with_score(trajectory: Trajectory, score: Score) -> Trajectory:
    """The trajectory with the score as its last message: it is kept wherever the trajectory is, and can be read in
    another process; the answer stays what the agent said."""
    last = Message(role="tool", tool_call_id=_MARK, content=(TextPart(text=score.model_dump_json()),))
    return trajectory.model_copy(update={"messages": (*trajectory.messages, last)})


def returned_score(trajectory: Trajectory) -> Score | None:
    """The score that came with a trajectory, None when there is none."""
    last: Sequence[Message] = trajectory.messages[-1:]
    if last and last[0].role == "tool" and last[0].tool_call_id == _MARK:
        return Score.model_validate_json(last[0].text)
    return None
