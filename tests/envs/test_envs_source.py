import functools

from skillgrad.source import source_digest


def one(x: int) -> int:
    return x + 1


def two(x: int) -> int:
    return x + 2


class Caller:
    def __call__(self, x: int) -> int:
        return x


def compiled(text: str) -> object:
    space: dict = {}
    exec(text, space)
    return space["made"]


def test_other_source_gives_another_digest() -> None:
    assert source_digest(one) == source_digest(one) != source_digest(two)


def test_functions_without_source_are_told_apart_by_their_bytecode() -> None:
    text = "def made(x):\n    return [y + {} for y in x if y in {{'a', 'b'}}]"
    first, same, other = (compiled(text.format(n)) for n in (1, 1, 2))
    assert source_digest(first) == source_digest(same) != source_digest(other)


def test_callables_without_bytecode_are_told_apart_by_name() -> None:
    assert source_digest(len) != source_digest(sum)


def test_partials_count_their_arguments() -> None:
    assert source_digest(functools.partial(one, 1)) != source_digest(functools.partial(one, 2)) != source_digest(one)


def test_objects_count_by_their_class() -> None:
    assert source_digest(Caller()) == source_digest(Caller())
    made = compiled("class Made:\n    def __call__(self): return 1\nmade = Made()")
    assert source_digest(made) != source_digest(Caller())
