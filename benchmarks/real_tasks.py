"""Tasks for a small real model, in families whose score depends on the instructions. Deterministic by the seed."""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from etude.records import Task

PEOPLE = (
    "Amara Cole", "Bruno Keller", "Celia Park", "Dmitri Vance", "Elif Aydin", "Farid Nasser", "Greta Holm",
    "Hugo Marin", "Isla Grant", "Jonas Weber", "Keiko Mori", "Leon Dubois", "Mina Shah", "Noel Byrne", "Petra Kovac",
    "Quentin Ross",
)  # fmt: skip
CITIES = (
    "Ankara", "Bergen", "Boston", "Bremen", "Dakar", "Denver", "Florence", "Glasgow", "Helsinki", "Istanbul",
    "Jakarta", "Krakow", "London", "Marseille", "Nairobi", "Osaka", "Porto", "Quito", "Seville", "Zurich",
)  # fmt: skip
GOODS = ("bags", "bowls", "brushes", "candles", "cushions", "forks", "jars", "rugs", "spoons", "vases")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
ORDERS = (
    "{who} from {city} bought {count} {goods} on {day}.",
    "Delivery: {count} {goods} for {who}, town {city}, due {day}.",
    "{city}: {who} wants {count} {goods} before {day}.",
    "{day} / {who} / {count} {goods} / {city}",
    "On {day} a box of {count} {goods} went to {who} in {city}.",
)
THINGS = (
    "the desk lamp", "my headphones", "the smart lock", "the kettle", "my tablet", "the air filter", "the bike light",
    "my keyboard", "the doorbell", "the projector", "the scale", "my dash cam",
)  # fmt: skip
TICKETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "billing": (
            "You took the money for {thing} twice.",
            "I need a receipt for {thing}.",
            "Why is there a charge of {count} euros on my card?",
            "The total on my invoice for {thing} is too high.",
            "When do I get my refund for {thing}?",
            "My credit card was refused when I paid for {thing}.",
            "Which discount applies to {thing}?",
        ),
        "shipping": (
            "My order with {thing} has not arrived.",
            "The driver left {thing} with a stranger.",
            "On which day will you deliver {thing}?",
            "The tracking page of my parcel is empty.",
            "My package has been at customs for {count} days.",
            "Please send {thing} to my office instead.",
            "The box of {thing} was open when it came.",
        ),
        "account": (
            "I lost my password.",
            "I want to change the name in my profile.",
            "My login has been locked for {count} days.",
            "How can I close my profile?",
            "There is a wrong email address in my settings.",
            "A stranger knows my password.",
            "The link to confirm my registration does not come.",
        ),
        "technical": (
            "The screen of {thing} flickers.",
            "After the update {thing} will not start.",
            "I get error {count} from {thing}.",
            "The sound of {thing} stops after {count} minutes.",
            "The app does not find {thing}.",
            "{thing} gets hot and switches itself off.",
            "The battery of {thing} is empty after {count} minutes.",
        ),
    }
)
GREETINGS = ("", "", "Hello. ", "Hi there. ", "Dear team, ", "Good evening. ")
FAREWELLS = ("", "", " Thanks.", " Please answer soon.", " Best wishes, Noor", " I wrote last week already.")
AUTHORS = (
    "{first} {last} wrote this book.",
    "A letter by {first} {last}",
    "The painter is {first} {last}.",
    "{first} {last}, born in {city}",
    "In {city} we met {first} {last}.",
    "Photographs: {first} {last}",
)


@dataclass(frozen=True)
class Family:
    """Tasks of one kind."""

    name: str
    form: str
    """What stands around the text of a task."""
    rule: str
    """The one line of the skill to start from."""
    draw: Callable[[random.Random], tuple[str, str]]
    """A text and its right answer."""
    temperature: float = 0.7
    tokens: int = 8
    """Most tokens of an answer."""

    @property
    def first_skill(self) -> str:
        """The weak skill to start from."""
        head = f"---\nname: {self.name}\ndescription: Short tasks about {self.name}.\n---\n"
        return f"{head}\n# {self.name.capitalize()}\n\n- {self.rule}\n"

    def tasks(self, count: int, seed: int, apart_from: Collection[str] = ()) -> list[Task]:
        """Different tasks, none of whose inputs is among those given."""
        draws = random.Random(f"{self.name} {seed}")
        seen, found = set(apart_from), list[Task]()
        while len(found) < count:
            text, gold = self.draw(draws)
            shown = self.form.format(text)
            if shown not in seen:
                seen.add(shown)
                found.append(Task(id=f"{self.name}-{seed}-{len(found):03d}", input=shown, gold=gold, type=self.name))
        return found


def _order(draws: random.Random) -> tuple[str, str]:
    city, day = draws.choice(CITIES), f"{draws.randint(1, 28)} {draws.choice(MONTHS)}"
    who, goods, count = draws.choice(PEOPLE), draws.choice(GOODS), draws.randint(2, 60)
    return draws.choice(ORDERS).format(who=who, city=city, count=count, goods=goods, day=day), city


def _ticket(draws: random.Random) -> tuple[str, str]:
    label = draws.choice(list(TICKETS))
    text = draws.choice(TICKETS[label]).format(thing=draws.choice(THINGS), count=draws.randint(2, 90))
    return draws.choice(GREETINGS) + text[0].upper() + text[1:] + draws.choice(FAREWELLS), label


def _name(draws: random.Random) -> tuple[str, str]:
    first, last = draws.choice(PEOPLE).split()[0], draws.choice(PEOPLE).split()[1]
    return draws.choice(AUTHORS).format(first=first, last=last, city=draws.choice(CITIES)), f"{last}, {first}"


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        one.name: one
        for one in (
            Family("cities", "Text: {}\nCity:", "Write the city that is named in the text.", _order),
            Family("tickets", "Message: {}\nDepartment:", "Write the department for the message.", _ticket),
            Family("names", "Text: {}\nEntry:", "Write the person as an index has it.", _name),
        )
    }
)
"""What is trained on. The scripted optimizer was written for `cities` and `tickets`, and not for `names`."""
