"""What people want of all answers, in many languages: how that is said, and what an answer then looks like."""

import re
from typing import NamedTuple


class Wanted(NamedTuple):
    """What people may want of all answers."""

    rule: str
    gives: str
    """What an answer has that follows the rule, and no other answer."""
    heard: str
    """A pattern of what is said about it."""
    said: tuple[str, ...]


WANTED = tuple(
    Wanted(*row)
    for row in (
        (
            "Install packages with pnpm, never with npm.",
            "pnpm add",
            "pnpm",
            (
                "Always install with pnpm, never npm.",
                "npm again? We are on pnpm here.",
                "pnpm, please, as I keep saying.",
            ),
        ),
        (
            "Use uv in place of pip.",
            "uv add",
            r"\buv\b",
            ("Please use uv, not pip.", "Why pip? I want uv.", "You forgot uv again."),
        ),
        (
            "Give lengths in metres.",
            " m long",
            r"met(?:re|er)s",
            ("Metres please, never feet.", "I cannot use feet. Metres.", "Once more: lengths in metres."),
        ),
        (
            "Write dates as in 2026-03-02.",
            "2026-03-02",
            r"\biso\b|2026-03-02",
            ("Dates in ISO form, always.", "That date should read 2026-03-02.", "ISO dates, as ever."),
        ),
        (
            "End with a line 'Recommendation:'.",
            "Recommendation: do it.",
            "recommend",
            (
                "You forgot the recommendation again.",
                "And what do you recommend? I always need that.",
                "No recommendation in it.",
            ),
        ),
        (
            "Antworte immer auf Deutsch.",
            "Kurz gesagt:",
            "deutsch",
            ("Bitte immer auf Deutsch antworten.", "Schon wieder Englisch. Auf Deutsch!", "Warum nicht auf Deutsch?"),
        ),
        (
            "Vouvoie toujours le lecteur.",
            "vous pouvez",
            "vouvo|\\bvous\\b",
            ("Il faut toujours vouvoyer le lecteur.", "Pas de tutoiement : vouvoyez.", "Encore tu ! C'est vous."),
        ),
        (
            "Termina siempre con los próximos pasos.",
            "Próximos pasos:",
            "pr[oó]ximos pasos",
            ("Faltan los próximos pasos, como siempre.", "Termina con los próximos pasos.", "¿Y los próximos pasos?"),
        ),
        ("总是用中文回答。", "总之", "中文", ("请用中文回答。", "又是英文。中文！", "为什么不用中文？")),
        (
            "必ず敬体で書く。",
            "です。",
            "敬体",
            ("敬体で書いてください。", "また常体です。敬体で。", "敬体でお願いします。"),
        ),
        (
            "Всегда указывай источник.",
            "Источник:",
            "источник",
            ("Всегда указывай источник.", "Где источник?", "Опять без источника."),
        ),
        (
            "Responda sempre em tópicos.",
            "• primeiro",
            "tópicos",
            ("Sempre em tópicos, por favor.", "Quero tópicos, não texto corrido.", "Outra vez sem tópicos."),
        ),
        (
            "Metti la conclusione all'inizio.",
            "In breve:",
            "conclusione",
            (
                "La conclusione va sempre all'inizio.",
                "Dov'è la conclusione? All'inizio!",
                "Prima la conclusione, grazie.",
            ),
        ),
        (
            "Zet bedragen altijd in euro.",
            "€",
            r"\beuro",
            ("Bedragen altijd in euro.", "Geen dollars, euro.", "Weer dollars. Ik wil euro's."),
        ),
        (
            "Podawaj zawsze przykład.",
            "Na przykład",
            "przykład",
            ("Zawsze podawaj przykład.", "Brakuje przykładu.", "A gdzie przykład?"),
        ),
        (
            "Her zaman kaynak göster.",
            "Kaynak:",
            "kaynak",
            ("Her zaman kaynak göster.", "Kaynak nerede?", "Yine kaynak yok."),
        ),
        (
            "Use type hints in all Python.",
            "-> None",
            "type hint",
            ("Type hints, always.", "Where are the type hints?", "No type hints again."),
        ),
        (
            "Name tests as sentences.",
            "test_that_it",
            "tests? (?:names?|as) |sentence",
            (
                "Test names are sentences here.",
                "I want tests as sentences.",
                "Again a test that is called test_1. Sentences!",
            ),
        ),
        (
            "Write British English.",
            "colour",
            "british|colour",
            ("British spelling, please: colour.", "It is colour, always.", "Not American. British."),
        ),
        (
            "Say times in 24 hours.",
            "18:30",
            "24.hour|18:30",
            ("We use 24-hour times.", "Not 6:30 pm. 18:30.", "24 hours, every time."),
        ),
    )
)


def understood(text: str) -> list[Wanted]:
    return [one for one in WANTED if re.search(one.heard, text, re.IGNORECASE)]
