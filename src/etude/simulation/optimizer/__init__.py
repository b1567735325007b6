"""The simulated optimizer: it reads only what it is sent, really diagnoses, and is imperfect at set rates."""

from etude.records import ChatRequest, Reply
from etude.simulation.miner import draft, mine, reword, sort_wishes, user_text
from etude.simulation.optimizer import patches, reflection
from etude.simulation.optimizer.profiles import Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.schemas import SYNONYMS, WantedForm, reply_in_form, reply_with

NOTHING_TO_DO = "I see no attempts, edits or form to work on."


def optimize(profile: Profile, request: ChatRequest, prompt: Prompt, form: WantedForm | None) -> Reply:
    """Answer a request for edits, or for the tasks of a transcript or a skill, in the form it asks for."""
    if form is not None:
        return reply_in_form(request, form, _values(form, request, prompt, profile))
    if not prompt.observations:
        return reply_with(request, NOTHING_TO_DO)
    values = reflection.reflect(prompt, profile)
    return reply_with(request, f"{values['reasoning']}\n\n```\n{values['skill']}```")


def _values(form: WantedForm, request: ChatRequest, prompt: Prompt, profile: Profile) -> dict[str, object]:
    """What there is to say, by concept. What is asked for shows in the names that the form has."""
    if {"drafts", "request"} <= form.names:
        return draft(prompt, profile)
    if {"tasks", "intent"} <= form.names:
        return mine(user_text(request), profile)
    if {"asked_by", "wishes"} <= form.names:
        return sort_wishes(user_text(request))
    if "rewordings" in form.names:
        return reword(user_text(request))
    if _asks(form, "anchors"):
        return reflection.repair(prompt)
    if _asks(form, "guidance"):
        return reflection.slow_update(prompt, profile)
    if _asks(form, "budget") and not _asks(form, "edits"):
        return reflection.budget(prompt)
    if _asks(form, "order") and not _asks(form, "edits"):
        return reflection.order(prompt)
    if _asks(form, "memory") and not _asks(form, "edits"):
        return reflection.meta_skill(prompt)
    if not prompt.observations and patches.shown_edits(prompt):
        if _asks(form, "edits"):
            return reflection.merge(prompt, profile)
        if _asks(form, "skill"):
            return patches.write(prompt, profile)
    if _asks(form, "reminders") and not prompt.observations:
        return reflection.consolidate(prompt)
    values = reflection.reflect(prompt, profile)
    return values | reflection.route(prompt, profile) if _asks(form, "routes") else values


def _asks(form: WantedForm, concept: str) -> bool:
    return any(name.lower() in SYNONYMS[concept] for name in form.names)
