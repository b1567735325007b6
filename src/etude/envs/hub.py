"""Rows of a dataset on the Hugging Face hub, through its library `datasets`, which downloads and caches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from pydantic import JsonValue

from etude.envs.files import Row, plain
from etude.envs.images import Images
from etude.errors import DataError, not_installed


class HubLibrary(Protocol):
    """What is used of the library `datasets`."""

    Image: Any
    load_dataset: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A dataset by name."""

    name: str
    config: str | None = None
    revision: str | None = None

    def read(
        self, split: str, images: Images, image_column: str | None = None, library: HubLibrary | None = None
    ) -> tuple[list[Row], str]:
        """The rows of a split, as in `train` or `train[:80%]`, and the fingerprint the library gives them.

        Class labels become their names, pictures in `image_column` references of `images`. Other columns of media are
        left out. Raises ConfigError: the library is not installed; DataError: there is no such dataset,
        configuration, revision or split; it is empty, or holds what is not JSON."""
        library = library if library is not None else _library(self.name)
        place = f"{self.name} {split}"
        try:
            data = library.load_dataset(self.name, self.config, split=split, revision=self.revision)
        except (OSError, ValueError, RuntimeError) as error:
            given = {"split": split, "config": self.config, "revision": self.revision}
            named = ", ".join(f"{key} {value!r}" for key, value in given.items() if value is not None)
            raise DataError(
                f"hub dataset {self.name!r}, {named}, cannot be loaded: {type(error).__name__}: {str(error)[:500]}",
                hint="check `hub`, `config`, `revision` and `splits`, and that the hub can be reached",
            ) from None
        fingerprint = str(getattr(data, "_fingerprint", ""))
        data = _without_media(data, image_column)
        pictures = image_column if _holds_pictures(data, image_column, library) else None
        if pictures is not None:
            data = _undecoded(data, pictures, library)
        rows: list[Row] = []
        for index, columns in enumerate(data):
            row: dict[str, JsonValue] = {}
            for column, value in cast(Mapping[str, Any], columns).items():
                where = f"{place}: row {index + 1}: column {column!r}"
                if column == pictures:
                    row[column] = _references(value, images, where, _picture_loader(data, index, column))
                else:
                    row[column] = plain(_label(data, column, value), where)
            rows.append(Row(f"{place}: row {index + 1}", row))
        if not rows:
            raise DataError(f"{place}: the split holds no tasks", hint="name another one in `splits`")
        return rows, fingerprint


def _library(name: str) -> HubLibrary:
    try:
        return cast(HubLibrary, import_module("datasets"))
    except ImportError:
        raise not_installed(f"hub dataset {name!r}", "the library datasets", "hf") from None


def _without_media(data: Any, kept: str | None) -> Any:
    """Without columns of pictures, sound and the like that no field names: a task has no place for them."""
    media = [name for name, feature in data.features.items() if _is_media(feature) and name != kept]
    return data.remove_columns(media) if media else data


def _is_media(feature: Any) -> bool:
    return hasattr(feature, "decode_example") or hasattr(getattr(feature, "feature", None), "decode_example")


def _holds_pictures(data: Any, column: str | None, library: HubLibrary) -> bool:
    feature = data.features.get(column)
    return isinstance(feature, library.Image) or isinstance(getattr(feature, "feature", None), library.Image)


def _undecoded(data: Any, column: str, library: HubLibrary) -> Any:
    """The pictures as they were stored: bytes and path."""
    feature = data.features[column]
    raw = library.Image(decode=False)
    return data.cast_column(column, raw if isinstance(feature, library.Image) else type(feature)(raw))


def _picture_loader(data: Any, index: int, column: str) -> Callable[[int], bytes]:
    def load(number: int) -> bytes:
        value = data[index][column]
        stored = cast(Mapping[str, Any], cast(list[Any], value)[number] if isinstance(value, list) else value)
        return stored["bytes"] if stored["bytes"] is not None else Path(stored["path"]).read_bytes()

    return load


def _references(value: Any, images: Images, where: str, load: Callable[[int], bytes]) -> JsonValue:
    found = cast(list[Any], value if isinstance(value, list) else [value])
    result: list[JsonValue] = []
    for number, picture in enumerate(found):
        if picture is None:
            continue
        name = Path(picture.get("path") or "image").name
        result.append(images.add_bytes(lambda number=number: load(number), name, f"{where}: the image"))
    return result


def _label(data: Any, column: str, value: Any) -> Any:
    """The name of a class label: its number would tell a model nothing."""
    names = getattr(data.features[column], "names", None)
    if names is None or not isinstance(value, int):
        return value
    return cast(list[str], names)[value] if value >= 0 else None
