"""Tasks from files (JSONL, JSON, CSV and Parquet), or from a dataset of the Hugging Face hub."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from pydantic import Field, JsonValue

from etude.config import parse
from etude.envs.files import FileFormat, Row, plain, read_rows
from etude.envs.images import Images
from etude.envs.rows import Fields, Template, tasks_from_rows, with_ids
from etude.envs.scorers.answer_scorer import Judge, ScoredEnvironment, make_scorer
from etude.envs.sources import ReadEnvironment, Sources
from etude.envs.splits import check_splits
from etude.envs.workspaces import TaskFiles
from etude.errors import ConfigError, DataError, not_installed
from etude.protocols import Scorer
from etude.records import Split, Task, canonical


def _hub_rows(config: "DatasetConfig", split: str, images: Images) -> tuple[list[Row], str]:
    """The rows of a split of a dataset of the hub, as in `train` or `train[:80%]`, and the fingerprint the library
    gives them.

    Class labels become their names, pictures in the column of images references of `images`. Other columns of media
    are left out: a task has no place for them. Raises ConfigError: the library is not installed; DataError: there is
    no such dataset, configuration, revision or split; it is empty, or holds what is not JSON."""
    try:
        library: Any = import_module("datasets")
    except ImportError:
        raise not_installed(f"hub dataset {config.hub!r}", "the library datasets", "hf") from None
    place = f"{config.hub} {split}"
    try:
        data = library.load_dataset(config.hub, config.config, split=split, revision=config.revision)
    except (OSError, ValueError, RuntimeError) as error:
        given = {"split": split, "config": config.config, "revision": config.revision}
        named = ", ".join(f"{key} {value!r}" for key, value in given.items() if value is not None)
        raise DataError(
            f"hub dataset {config.hub!r}, {named}, cannot be loaded: {type(error).__name__}: {str(error)[:500]}",
            hint="check `hub`, `config`, `revision` and `splits`, and that the hub can be reached",
        ) from None
    fingerprint, pictures = str(getattr(data, "_fingerprint", "")), config.fields.images
    if media := [name for name, feature in data.features.items() if _is_media(feature) and name != pictures]:
        data = data.remove_columns(media)
    feature = data.features.get(pictures)
    if isinstance(feature, library.Image) or isinstance(getattr(feature, "feature", None), library.Image):
        raw = library.Image(decode=False)  # as they were stored: bytes and path
        data = data.cast_column(pictures, raw if isinstance(feature, library.Image) else type(feature)(raw))
    else:
        pictures = None
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


def _is_media(feature: Any) -> bool:
    return hasattr(feature, "decode_example") or hasattr(getattr(feature, "feature", None), "decode_example")


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


class DatasetConfig(Sources):
    """Settings of the `dataset` environment: one file and a ratio, a file for each split, or a dataset of the hub."""

    hub: str | None = None
    """A dataset of the Hugging Face hub in place of files, `owner/name`; needs the extra `hf`."""
    config: str | None = None
    """Configuration of the hub's dataset, where it has several."""
    revision: str | None = None
    """Branch, tag or commit of the hub's dataset; the latest when not given."""
    splits: dict[Split, str] = Field(default_factory=dict[Split, str])
    """The hub's splits, as in `{train: train, val: validation, test: test}`; `train[:80%]` is a part of one."""
    format: FileFormat | None = None
    """Format of the files; the suffix says it when not given."""
    fields: Fields = Fields()
    """Which column is which part of a task; guessed from usual names where not given, except images and files."""
    template: str = ""
    """Builds the input from several columns, as in `{question}\\n{choices}`."""
    scorer: str | dict[str, JsonValue] = "exact"
    """Name of the scorer, or a mapping of `name` and the scorer's own settings."""


class DatasetEnvironment(ReadEnvironment, ScoredEnvironment):
    """Tasks from files or the hub, scored by a scorer. Each file is read once, at construction.

    `scorer` replaces the one of the settings; `judge` makes the model that the `rubric` scorer asks; `read` stands in
    for what reads a file. Raises ConfigError: a setting is wrong or missing; DataError: a file is missing or broken,
    or the splits overlap; names file and line."""

    name = "dataset"
    options_type: ClassVar[type[DatasetConfig]] = DatasetConfig

    def __init__(
        self,
        options: Mapping[str, Any],
        scorer: Scorer | None = None,
        *,
        where: str = "env",
        judge: Callable[[], Judge] | None = None,
        read: Callable[[Path, FileFormat | None], Sequence[Row]] = read_rows,
    ) -> None:
        self.config = parse(self.options_type, dict(options), where=where)
        self.scorer = scorer if scorer is not None else make_scorer(self.config.scorer, f"{where}.scorer", judge)
        if self.config.template and self.config.fields.input is not None:
            raise ConfigError(f"{where}: 'template' and 'fields.input' exclude each other", hint="remove one")
        self._template = Template(self.config.template, where) if self.config.template else None
        self._images = Images()
        self._read = read
        self._fingerprints: dict[str, str] = {}
        self._places: dict[str, str] = {}
        files = _sources(self.config, where)
        data = {} if self.config.hub is not None else {Path(file): "a file of tasks" for file in files.values()}
        self._files = TaskFiles({**data, **self.hidden()})
        self._tasks = self.config.read(files, self._read_file if self.config.hub is None else self._read_hub)
        self._warnings = check_splits(self._tasks, names=files, places=self._places)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """The environment for the settings of the `env` section."""
        return cls(options, where=where, judge=judge)

    def fingerprint(self) -> str:
        """Name, scorer and, for a dataset of the hub, its revision and what the library calls its content."""
        hub = [self.config.hub, self.config.config, self.config.revision, self._fingerprints]
        return canonical([self.name, self.scorer.fingerprint(), *(hub if self.config.hub is not None else [])])

    def image(self, reference: str) -> str:
        """A data URL for a picture of one of the tasks. Raises DataError: the file has changed or is gone."""
        return self._images.url(reference)

    def hidden(self) -> Mapping[Path, str]:
        """Files that no agent may find in its workspace, and what they are; those of the tasks are never there."""
        return {}

    def _read_file(self, path: str) -> tuple[Task, ...]:
        return self._tasks_of(self._read(Path(path), self.config.format), Path(path).parent)

    def _read_hub(self, split: str) -> tuple[Task, ...]:
        rows, self._fingerprints[split] = _hub_rows(self.config, split, self._images)
        return self._tasks_of(rows, Path())

    def _tasks_of(self, rows: Sequence[Row], folder: Path) -> tuple[Task, ...]:
        tasks = with_ids(
            tasks_from_rows(
                rows,
                self.config.fields,
                template=self._template,
                needs_gold=bool(getattr(self.scorer, "needs_gold", False)),
                image=lambda value, place: self._images.add(value, folder, place),
                files=lambda value, place: self._files.read(value, folder, place),
            )
        )
        self._places |= {task.id: row.place for task, row in zip(tasks, rows, strict=True)}
        return tasks


def _sources(config: DatasetConfig, where: str) -> dict[Split, str]:
    """The file, or the split of the hub's dataset, behind each split."""
    if config.hub is not None:
        return _hub_splits(config, where)
    alone = [name for name in ("config", "revision", "splits") if name in config.model_fields_set]
    if alone:
        raise ConfigError(f"{where}: {alone[0]!r} belongs to a dataset of the hub", hint="add 'hub', or remove it")
    return config.files(where, "give 'path', or 'train', 'val' and 'test', or 'hub' and 'splits'")


def _hub_splits(config: DatasetConfig, where: str) -> dict[Split, str]:
    files = ("path", "train", "val", "test", "format", "ratio", "split_seed")
    given = [name for name in files if name in config.model_fields_set]
    if given:
        raise ConfigError(f"{where}: 'hub' and {given[0]!r} exclude each other", hint="remove one")
    if config.fields.files is not None:
        raise ConfigError(
            f"{where}: 'hub' and 'fields.files' exclude each other: a dataset of the hub has no folder to look in",
            hint="write the tasks to a file next to their files",
        )
    missing = [split for split in ("train", "val") if split not in config.splits]
    if missing:
        raise ConfigError(
            f"{where}: splits has no {missing[0]!r}",
            hint="as in `splits: {train: 'train[:80%]', val: 'train[80%:]', test: test}`",
        )
    return dict(config.splits)
