"""A night: probe, harvest, mine, improve, stage. What is paid for is a fact in the night's run folders, what was
found out is a file in its folder, so that an interrupted night resumes where it was."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from etude.build import open_workbench
from etude.errors import BudgetStop, EtudeError, IdentityError, ModelError, OutageStop, StopRun
from etude.files import private_folder
from etude.models import build_model, price_of
from etude.records import SPLITS, ChatRequest, Skill, user
from etude.records.said import SERVER
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.known_words import KnownWords
from etude.sleep.adoption.proposal import Proposal
from etude.sleep.adoption.proposals import ProjectProposals
from etude.sleep.adoption.rules import said
from etude.sleep.config import SleepConfig
from etude.sleep.improve.consolidate import with_judge
from etude.sleep.improve.documents import TrainingOutcome, improve
from etude.sleep.improve.groups import check_documents, check_tasks, groups_of
from etude.sleep.improve.propose import propose
from etude.sleep.improve.wishes import UserWishes, asked, what_was_said
from etude.sleep.limits import of_the_night, spent_in, spent_so_far, within
from etude.sleep.live_documents import documents_of, without_secrets
from etude.sleep.page import as_file, night_page, why_it_waits
from etude.sleep.report import DocumentReport, NightIntake, NightReport, Spent, read_report, unfinished
from etude.sleep.state import REPORT, SleepState, Surroundings, read_kept, state_of
from etude.sleep.tasks.environment import NightEnvironment, SlowPattern
from etude.sleep.tasks.gather import (
    GatheredTasks,
    archive,
    archived,
    from_file,
    from_transcripts,
    gleaned,
    settings_of,
    sources_of,
)
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.probe import SLOW
from etude.sleep.transcripts.cleaning import OWN
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sources import Source
from etude.workbench import Given, StopSwitch, Workbench

TASKS = "tasks.json"
PAGE = "report.md"

_WHY_NOTHING = {"inconclusive": "the gain of what passed the gate may be luck", "rejected": "nothing passed the gate"}
"""By the status of a document, the first that one has."""


async def arun_night(
    config: SleepConfig,
    around: Surroundings | None = None,
    sources: Sequence[Source] | None = None,
    given: Given | None = None,
) -> NightReport:
    """Work through a night, or resume the last one where it was interrupted. Whatever goes wrong, no session is used
    up, nothing is adopted, and the report of the night says what it was.

    Args:
        around: home folder, environment and clock; those of this process by default.
        sources: by default those of the settings.
        given: objects to use instead of building them from the settings, as for `Trainer`.

    Raises:
        InputError: settings, documents or tasks cannot be used.
        LockedError: another night of the project is under way.
        StopRun: a budget is used up, an endpoint is dead, too many attempts errored, or the disk is full; the same
            call resumes there. `error.summary` is the report of the night.
    """
    around = around or Surroundings()
    state = state_of(config, around)
    found = sources_of(config) if sources is None else sources
    given = given or Given()
    recovery = _proposals(config, state).recover()
    kept_rules(state.folder)  # what is damaged is reported before anything is paid for
    check_inputs(config, around, given)
    state.make()
    with Ledger(state.ledger) as ledger:
        switch = given.get("switch") or StopSwitch()
        switch.allow(config.limits.minutes)
        night = _Night(config, around, state, ledger, found, {**given, "switch": switch})
        notes, number = () if recovery is None else recovery.notes, unfinished(state)
        if number is not None:
            with suppress(IdentityError):  # settings or documents changed: it is over, and its report says so
                return await night.run(number, notes)
        return await night.run(1 + max(state.numbers(), default=0), notes)


def check_inputs(config: SleepConfig, around: Surroundings, given: Given) -> None:
    """Documents, tasks and models that cannot be used are reported before anything is paid for or written."""
    check_documents(config, around)
    if config.sleep.tasks is not None:
        check_tasks(config, from_file(config).tasks, around)
    for role, section in (("target", config.target), ("optimizer", config.optimizer), ("judge", config.judge)):
        if section is not None and role not in given:
            build_model(section)


def _proposals(config: SleepConfig, state: SleepState) -> ProjectProposals:
    return ProjectProposals(Path(config.sleep.project), state, tuple(map(Path, config.sleep.named_paths)))


def read_tasks(state: SleepState, number: int) -> tuple[MinedTask, ...]:
    """The tasks of a night; none when it had not got that far."""
    gathered = _gathered(state.night(number))
    return () if gathered is None else gathered.tasks


def _gathered(night: Path) -> GatheredTasks | None:
    """What a night has gathered; None when it had not got that far."""
    return read_kept(night / TASKS, GatheredTasks, "the next run begins a new night")


def _why_nothing(gathered: GatheredTasks, documents: Sequence[DocumentReport]) -> str:
    """Why there is no proposal though there were tasks."""
    if not any(task.split == "train" for task in gathered.tasks):
        return "there is nothing to train on"
    for status, why in _WHY_NOTHING.items():
        if any(document.status == status for document in documents):
            return why
    return f"no candidate was made: {documents[0].reason}"


class _Night:
    """A night, begun or resumed."""

    def __init__(
        self,
        config: SleepConfig,
        around: Surroundings,
        state: SleepState,
        ledger: Ledger,
        sources: Sequence[Source],
        given: Given,
    ) -> None:
        self._config, self._around, self._state = config, around, state
        self._ledger, self._sources, self._given = ledger, sources, given
        self._proposals = _proposals(config, state)
        self._sections = [one for one in (config.target, config.optimizer, config.judge) if one is not None]

    async def run(self, number: int, notes: tuple[str, ...]) -> NightReport:
        """Go through the night; `notes` say what was done before it."""
        self._number, self._folder = number, self._state.night(number)
        before = read_report(self._state, number)
        self._report = NightReport(
            night=number,
            status="running",
            resumes=True,
            project=str(Path(self._config.sleep.project).absolute()),
            started=self._around.now() if before is None else before.started,
            target=self._config.target.model,
            optimizer=self._config.optimizer.model,
            simulated=any(one.model.startswith("simulated:") for one in self._sections),
            notes=notes,
        )
        self._tell(status="running")
        try:
            gathered, improved = await self._gather(), None
            while improved is None:
                try:
                    improved = await self._improve(gathered)
                except SlowPattern as error:
                    gathered = self._without(gathered, error.task)
            self._end(gathered, *improved)
        except BudgetStop as error:
            stop = of_the_night(error, self._config.limits, spent_so_far(self._folder))
            self._fail(stop)
            raise stop from error
        except EtudeError as error:
            self._fail(error)
            raise
        return self._report

    async def _gather(self) -> GatheredTasks:
        """The tasks, from their file when they were mined before this process."""
        gathered = _gathered(self._folder)
        if gathered is not None:
            self._check(gathered)
        elif self._config.sleep.tasks is not None:
            async with self._bench() as bench:
                await self._probe(bench)
                gathered = from_file(self._config, tools=bench.models["target"].takes_tools)
        else:
            async with self._bench() as bench:
                await self._probe(bench)
                found = gleaned(self._config, self._around, self._ledger, self._sources)
                self._ledger.take(found.entries)
                known, tried = archived(self._state), self._ledger.once_more(self._number)
                gathered = await from_transcripts(self._config, found, bench, known, tried, self._number)
        gathered = gathered.model_copy(update={"settings": settings_of(self._config)})
        return self._keep(gathered)

    def _keep(self, gathered: GatheredTasks) -> GatheredTasks:
        self._state.keep(self._folder / TASKS, gathered)
        splits = [task.split for task in gathered.tasks]
        self._tell(
            **{name: getattr(gathered, name) for name in NightIntake.model_fields},
            tasks={split: splits.count(split) for split in SPLITS if split in splits},
            notes=tuple(dict.fromkeys((*self._report.notes, *gathered.notes))),
            spent=self._spent(),
        )
        return gathered

    async def _improve(self, gathered: GatheredTasks) -> tuple[TrainingOutcome, Proposal | None]:
        """Train on the tasks, look at what users asked for outright, and stage what is to be proposed."""
        config, around, trained = self._config, self._around, TrainingOutcome(spent=self._spent())
        waiting = self._proposals.waiting(self._number)
        if gathered.tasks:
            check_tasks(config, gathered.tasks, around)  # before anything is paid for
            groups, notes = groups_of(config, gathered.tasks, around, self._folder / "runs", waiting)
            trained = await improve(config, groups, self._state, self._number, self._given)
            trained = trained._replace(notes=(*notes, *trained.notes))
        read = documents_of(config.sleep, around)
        texts = [*(without_secrets(live.text) for live in (read.skill, read.memory)), *read.others]
        wanted, heard = UserWishes(known=KnownWords(texts)), what_was_said(gathered.wishes, gathered.tasks)
        waits = [rule for one in waiting.values() for rule in one.added]
        if heard or trained.rules:  # a rule that waits may have other words now: do its quotes still ask for it?
            heard += [(said(rule.text), quote) for rule in waits for quote in rule.evidence.quotes]
        rules = (*trained.rules, *waits)
        if heard and (rules or gathered.wishes):
            rejected = kept_rules(self._state.folder).turned_down
            async with self._bench("wishes", trained.spent) as bench:
                wanted = await asked(bench.optimizer(), rules, texts, heard, rejected)
            trained = trained._replace(spent=trained.spent + spent_in(self._folder / "runs" / "wishes"))
        place = read.memory if config.sleep.memory else read.skill  # the memory file is read in every session
        wanted = wanted._replace(overheard=gathered.overheard, document=place)
        proposal, left = propose(config.sleep, self._state, self._number, waiting, trained, wanted)
        return trained._replace(notes=(*trained.notes, *wanted.notes, *left), later=wanted.later), proposal

    def _without(self, gathered: GatheredTasks, slow: str) -> GatheredTasks:
        """The tasks without one of which a pattern takes too long. A run folder belongs to the tasks it began with,
        so training begins again; what it has spent still counts."""
        mine = self._folder / "runs" / "mine"
        aside = mine / f"dropped-{len(list(mine.glob('dropped-*'))) + 1}"
        private_folder(aside)
        for run in [run for run in mine.parent.iterdir() if run != mine]:
            run.rename(aside / run.name)
        return self._keep(gathered.without(slow, SLOW))

    def _check(self, gathered: GatheredTasks) -> None:
        """Refuse to resume with tasks of other settings."""
        now, then = settings_of(self._config), gathered.settings
        other = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
        if other:
            raise IdentityError(
                f"night {self._number} began with other settings: {', '.join(other)}", hint="a new night begins"
            )

    def _bench(self, name: str = "mine", spent: Spent = Spent()) -> AbstractAsyncContextManager[Workbench]:
        """Models within what is left of the budget of the night, and no tasks."""
        config = within(self._config, spent).for_run(self._folder / "runs", name)
        parts: Given = {"env": lambda judge: NightEnvironment((), judge), "skill": Skill(text="Nothing to train.")}
        return open_workbench(config, {**with_judge(self._config, self._given), **parts})

    async def _probe(self, bench: Workbench) -> None:
        """Ask every model once whether it is there, before anything is read or paid for."""
        for role, model in bench.models.items():
            if model.answered_by_hand or (role == "judge" and self._config.judge is None):
                continue  # asking a person would cost a round; without a judge of its own it is the optimizer
            try:
                reply = await model.complete(ChatRequest(messages=(user(f"Reply with the word OK.\n\n{OWN}"),)))
            except ModelError as error:
                hint = error.hint or "fix the cause and run the same command again"
                raise OutageStop(f"{role}: {error.message}", hint=hint) from error
            if not reply.text.strip() and reply.finish != "length":
                apart = f": its text stands in `{reply.text_in}`" if reply.text_in else ""
                hint = SERVER if reply.text_in else "look at the model, then run it again"
                raise OutageStop(f"{role}: {model.name} replies with nothing{apart}", hint=hint)

    def _spent(self) -> Spent:
        """What was used for mining, and for training that was begun again."""
        return spent_so_far(self._folder / "runs" / "mine")

    def _end(self, gathered: GatheredTasks, trained: TrainingOutcome, proposal: Proposal | None) -> None:
        """Everything went well: what the night knows is kept, and its sessions are used."""
        self._tell(
            documents=(*trained.reports, *trained.idle),
            proposal="" if proposal is None else str(self._proposals.folder(self._number)),
            spent=trained.spent,
            simulated=any(change.simulated for _, change in trained.changes),
            notes=(*self._report.notes, *trained.notes),
            ended=self._around.now(),
        )
        status, reason = "proposed", ""
        if proposal is None and gathered.tasks:
            status, reason = "no change", _why_nothing(gathered, trained.reports)
        elif proposal is None:
            status, reason = "nothing to do", "no session has a task in it"
            if self._config.sleep.tasks is not None:
                reason = "no task of the file can be attempted"
            elif not gathered.sessions:
                reason = "there is no session that no night has used"
        ended = self._report.model_copy(update={"status": status, "reason": reason})
        items = () if proposal is None else self._proposals.pending(self._number).items
        found = night_page(self._number, ended, items, self._proposals.project)
        self._state.write(self._folder / PAGE, as_file(found))
        if self._config.sleep.tasks is None:
            archive(self._state, (*gathered.later, *gathered.tasks))
            behind = {(one.source, one.id) for task in trained.inconclusive for one in task.sessions}
            behind -= self._ledger.once_more(self._number)
            if behind:
                note = f"sessions of inconclusive candidates that wait for the next night, once: {len(behind)}"
                self._tell(notes=(*self._report.notes, note))
            again = {(one.source, one.id) for one in gathered.unmined} | behind | set(trained.later)
            self._ledger.commit(self._number, gathered.entries, again)
        self._tell(status=status, reason=reason, resumes=False)
        if proposal is not None and self._config.sleep.auto_adopt:
            self._adopt(proposal)

    def _adopt(self, proposal: Proposal) -> None:
        """The last step: killed within it, the night is a proposal, and the next run finishes the adoption."""
        added = (rule for one in proposal.documents for rule in one.added)
        doubts = {rule.id: why_it_waits(rule) for rule in added if rule.night == proposal.night}
        leaving = (rule for one in proposal.documents for rule in one.leaving)
        wait = (
            *(f"rule {name}: {why}" for name, those in doubts.items() for why in those),
            *(f"rule {rule.id}: A person decides whether it is taken out." for rule in leaving),
        )
        ready = [name for name, those in doubts.items() if not those]
        self._tell(held_back=wait)
        if not ready:
            return
        try:
            self._proposals.adopt(self._number, ready)
        except EtudeError as error:  # the night is done and its proposal is there: a person may adopt it
            self._tell(held_back=(*wait, error.message))
            return
        self._tell(status="adopted")

    def _fail(self, error: EtudeError) -> None:
        """Nothing is used up. A night that was stopped can be resumed, one with wrong inputs cannot."""
        with suppress(EtudeError):  # on a full disk the files of the night cannot say why; `error` does
            self._tell(
                status="error",
                reason=error.message,
                hint=error.hint,
                resumes=isinstance(error, StopRun),
                ended=self._around.now(),
            )
            self._tell(spent=spent_so_far(self._folder))
        if isinstance(error, StopRun):
            error.summary = self._report

    def _tell(self, **changes: object) -> None:
        """Keep the report up to date on disk. The money is unknown where a model without a price was called."""
        report = self._report.model_copy(update=changes)
        if report.spent.calls and any(price_of(one, self._config.prices) is None for one in self._sections):
            report = report.model_copy(update={"spent": report.spent.model_copy(update={"usd": None})})
        self._report = report
        self._state.keep(self._folder / REPORT, report)
