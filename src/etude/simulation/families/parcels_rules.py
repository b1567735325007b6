"""What a skill can teach about the price of a parcel, and how these rules act on each other.

Which of two weights is charged, and how the second of them is computed, are no use one without the other: who knows
only one of these rules nearly always gets the other step wrong. That a place is an island follows from its name as
well as from its postcode: who knows either needs no more. Rounding stands alone.
"""

from etude.simulation.rules import Interaction, Rule

SLIP = 0.12
"""How often a taught step goes wrong all the same."""

VOLUME = Rule(
    id="parcels.volume",
    topic=(
        r"volum|\bbulk|cubic|\blit(?:re|er)s?\b|length|\bsides\b|dimensions?\b|\bcm\b",
        r"divid|\d[ ,.]?000\b|thousand|kilogram|\bkg\b|weigh",
    ),
    # A comma ends a clause, also the one in "5,000".
    good=r"\b5(?:[ .]?000\b|$)|five thousand",
    bad=r"\b[1-46-9](?:[ .]?000\b|$)|\b(?:one|four|six) thousand|\blit(?:re|er)s?\b",
    statements=(
        "The weight by volume in kilograms is length times width times height in cm, divided by 5000.",
        "Multiply the three sides in cm and divide by 5000 to get the volumetric weight.",
        "Every 5000 cubic centimetres of a parcel weigh one kilogram.",
    ),
    harmful=(
        "Divide the volume in cubic centimetres by 1000 to get the weight by volume.",
        "One litre of volume weighs one kilogram.",
    ),
    untaught=0.45,
    slip=SLIP,
)

HEAVIER = Rule(
    id="parcels.heavier",
    topic=(
        r"\bweights?\b|\bweigh|\bscales\b",
        r"greater|larger|higher|heavier|bigger|smaller|lower|lighter|lesser|whichever|m(?:ax|in)imum|\bscales\b|actual",
    ),
    good=r"greater|larger|higher|heavier|bigger|maximum|whichever is more",
    bad=r"smaller|lower|lighter|lesser|minimum|whichever is less|\balone\b|\bonly\b|average",
    statements=(
        "Charge the greater of two weights, the one on the scales and the one by volume.",
        "Compare the actual weight with the volumetric weight and charge the larger one.",
        "Whichever is higher counts, the weight on the scales or the weight by volume.",
    ),
    harmful=(
        "Charge the smaller of the two weights.",
        "Charge the weight on the scales alone, however bulky a parcel is.",
    ),
    untaught=0.45,
    slip=SLIP,
    unless=r"\bround",
)

ROUNDING = Rule(
    id="parcels.rounding",
    topic=(
        r"\bround(?:s|ed|ing)?\b|\bstarted\b|\bbegun\b|fractions?\b|(?:whole|full|next) kilogram",
        r"kilogram|\bkg\b|weight",
    ),
    good=r"\bup\b|upwards?\b|\bnext\b|started|begun|as a (?:whole|full)",
    bad=r"\bdown|nearest|\bcut\b|\bdrop|discard|ignor|leave out|\bomit|\bfree\b",
    statements=(
        "Round the weight up to the next full kilogram.",
        "Every started kilogram is charged in full.",
        "A fraction of a kilogram is charged as a whole kilogram.",
    ),
    harmful=("Round the weight down to full kilograms.", "Drop fractions of a kilogram."),
    untaught=0.35,
    slip=SLIP,
)

ISLAND_NAMES = ("Ostrey", "Skarholm", "Linsay", "Vannoy")
_EXTRA = r"\bislands?\b|\bextra\b|surcharge|\bmore\b"
_NO_EXTRA = r"mainland|\b(?:no|without) (?:\w+ )?(?:extra|surcharge)|same price"

ISLANDS = Rule(
    id="parcels.islands",
    topic=("|".join(ISLAND_NAMES).lower(),),
    good=_EXTRA,
    bad=_NO_EXTRA,
    statements=(
        "Ostrey, Skarholm, Linsay and Vannoy are islands.",
        "Add the extra for islands when a parcel goes to Ostrey, Skarholm, Linsay or Vannoy.",
        "A parcel to Linsay, Ostrey, Vannoy or Skarholm costs more: these are islands.",
    ),
    harmful=(
        "Ostrey, Skarholm, Linsay and Vannoy are on the mainland.",
        "Parcels to Skarholm, Ostrey, Vannoy and Linsay go without the extra for islands.",
    ),
    untaught=0.3,
    slip=SLIP,
)

POSTCODE = Rule(
    id="parcels.postcode",
    topic=(
        r"post ?codes?\b|postal codes?\b|\bzip\b",
        r"\b9|\bnine|island|mainland|\bprices?\b|extra|surcharge|ignor|disregard",
    ),
    good=_EXTRA,
    bad=rf"{_NO_EXTRA}|\bignor|disregard|nothing",
    statements=(
        "A postcode that begins with 9 is on an island.",
        "Add the extra for islands when the first digit of the postcode is 9.",
        "Postcodes from 9000 on belong to islands.",
    ),
    harmful=(
        "A postcode that begins with 9 is on the mainland.",
        "Ignore the postcode: it has nothing to do with the price.",
    ),
    untaught=0.3,
    slip=0.0,
)
"""Its step never goes wrong once it is taught, since the one of `ISLANDS` still does: both together are exactly as
reliable as either."""

RULES = (VOLUME, HEAVIER, ROUNDING, ISLANDS, POSTCODE)

INTERACTIONS = (
    Interaction(VOLUME.id, HEAVIER.id, 0.95),
    Interaction(HEAVIER.id, VOLUME.id, 0.95),
    Interaction(ISLANDS.id, POSTCODE.id, 0.0),
    Interaction(POSTCODE.id, ISLANDS.id, SLIP),
)
