"""The target of the noisy world: it does what a skill states, mostly, or answers as its habits are."""

from noisy_world import SIGNED, Said, Truth, World, chance, form_of, parts_of, said, ways, written

from etude import ChatModel, ChatRequest, Reply


class Clerk(ChatModel):
    """The target: fills in forms as far as it was told how."""

    def __init__(self, world: World) -> None:
        self.world, self.truth = world, Truth(world)
        self.name = f"clerk {world!r}"

    async def complete(self, request: ChatRequest) -> Reply:
        """Fill in a form."""
        whole = "\n".join(message.text for message in request.messages)
        task = request.messages[-1].text
        skill = said(whole[: whole.rfind("Fill in form")], self.world)
        form, fields, truth = form_of(task), parts_of(task), self.truth
        draw: tuple[object, ...] = (self.world.seed, whole, request.seed)
        marks: dict[str, object] = {name: name for name in fields}
        if self.world.wanders:
            return Reply(text=f"An essay, number {chance(*draw)}.")
        if chance(*draw, "lucky") < self.world.lucky:
            draw, marks = (self.world.seed, request.seed), {name: at for at, name in enumerate(fields)}
        luck = truth.luck(form)
        if luck is None and chance(*draw, "copied") < skill.copied:
            return Reply(text=skill.example)
        alike = truth.alike(form, skill) if luck is None else ""
        if chance(*draw, "whole") >= (truth.whole(form, skill) if luck is None else luck):
            one = list(fields)[int(chance(*draw, "which") * len(fields))]
            wrong = list(fields) if self.world.partial and luck is None else [one]
        elif luck is None:
            wrong = [name for name in fields if chance(*draw, marks[name]) >= truth.rate(name, skill, alike)]
        else:
            wrong = []
        given = {name: self._way(name, skill, alike, wrong=name in wrong) for name in fields}
        signed = SIGNED if chance(*draw, "signed") < (self.world.unmet or 0) else ""
        return Reply(text="/".join(written(value, given[name]) for name, value in fields.items()) + signed)

    def _way(self, name: str, skill: Said, alike: str, *, wrong: bool) -> str:
        """In which a field is written."""
        right = ways(self.world.seed)[name]
        if not wrong:
            return right
        return alike if alike not in ("", right) else skill.wrong.get(name, "")
