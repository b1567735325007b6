"""The base of all sections of the settings."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, JsonValue


class Section(BaseModel):
    """Base of all sections: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    free: ClassVar[frozenset[str]] = frozenset()
    """Fields that may change between a run and its resumption: they do not decide what the result is."""

    paths: ClassVar[frozenset[str]] = frozenset()
    """Fields that are paths: in a file they are meant from its folder."""
    names_or_paths: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold names or paths, by how they look (`is_path`)."""

    def identity(self) -> dict[str, JsonValue]:
        """The settings a run depends on, without the free ones."""
        result: dict[str, JsonValue] = {}
        for name in type(self).model_fields:
            if name in self.free:
                continue
            value = getattr(self, name)
            result[name] = value.identity() if isinstance(value, Section) else value
        result.update(self.model_extra or {})
        return result
