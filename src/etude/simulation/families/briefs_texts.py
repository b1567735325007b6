"""What briefs are about, and the sentences they are made of. None but those named so speaks of risks,
recommendations or sources."""

TOPICS: tuple[str, ...] = (
    "a four-day week for the workshop",
    "a second bakery near the station",
    "solar panels on the depot roof",
    "an online shop for spare parts",
    "a switch to electric delivery vans",
    "evening hours for the town library",
    "a shared canteen for both sites",
    "a paid newsletter for members",
    "a new ticket system for the museum",
    "the sale of the old printing press",
    "outsourcing the payroll",
    "a repair service for bicycles",
    "a move of the archive to the cellar",
    "free parking for evening guests",
    "a trial of remote interviews",
    "a house brand of herbal tea",
    "a booking app for the sports hall",
    "a merger with the neighbouring club",
    "yearly price changes for the ferry",
    "a common warehouse with a competitor",
    "a loyalty card for the market hall",
    "an apprenticeship in the joinery",
    "longer guarantees on garden tools",
    "a ban on single-use cups",
    "a rooftop garden for the clinic",
    "a translation of the handbook",
    "weekly instead of daily deliveries",
    "a mobile pharmacy for the villages",
    "renting out the concert grand",
    "a fixed price for house calls",
    "a nursery for the children of staff",
    "glass roofs over the market stalls",
)

OPENINGS: tuple[str, ...] = (
    "Write a brief on {}.",
    "Analyze the decision of {}.",
    "Answer: should we decide {}?",
    "Advise on {}.",
)

SUMMARIES: tuple[str, ...] = (
    "Before us is {}. The question is whether the gain is worth the effort of the first year",
    "This is about {}. Most of the cost comes at once, most of the gain comes later",
    "To be decided is {}. What is at stake is small in money and large in habits",
    "Under discussion is {}. It pays off if those concerned use it, and hardly otherwise",
)

POINTS: tuple[str, ...] = (
    "Staff have asked for it twice in the last year.",
    "The running cost is lower than today's.",
    "It can be undone within a season.",
    "Two neighbours did it and kept it.",
    "It frees hours that are lost every week.",
)

RISKS: tuple[str, ...] = (
    "Fewer people may use it than the first survey says.",
    "The one supplier could raise prices after a year.",
    "The change may bind staff who are needed elsewhere.",
    "A late start would miss the busy season.",
    "Regular guests may not accept the new way.",
)

CHOICES: tuple[str, ...] = (
    "try it for one season, because it is cheap to undo.",
    "go ahead, because the running cost falls from the first year on.",
    "wait until spring, because the figures of a full winter are missing.",
    "decline, because the same gain can be had with what is there.",
)

LEVELS: tuple[str, ...] = ("high", "medium", "low")

DIGRESSION = """\
Questions of this kind have been with us for a long time, and it is worth going back to where they began. In the
early years nobody wrote such things down, so that what we know of them comes from those who were there, and
they remember it differently. What can be said is that the mood was open, that meetings were long, and that most
matters were settled over lunch.

Later things became more formal. There were forms to be filled, and then forms about the forms, and at some
point a committee was set up, which met on the first Monday of each month and, when that was a holiday, on the
second. Its minutes fill a shelf. They are a pleasure to read, though they seldom come to a point, and the same
may be said of the letters that went back and forth.

One should also look at the matter from other sides. There is the view of those who work here, the view of those
who come here, and the view of those who do neither but live close by. Each of them is right in a way, and each
sees something that escapes the others. It would take a long evening to do justice to all of them, and even then
somebody would feel left out.

Finally there is the wider picture. Times change, and with them what people take for granted. What was a novelty
ten years ago is a habit now, and what is a habit now may be a memory in ten years. It is hard to say where all
of this leads, but it certainly leads somewhere, and there is much to be said for going along with open eyes."""
"""What a reply without measure adds."""
