"""The vocabulary of the sorting tasks. No word of `WORDS` begins another one."""


def one_by_one(text: str) -> tuple[str, ...]:
    """The words of a text.

    >>> one_by_one("cat dog")
    ('cat', 'dog')
    """
    return tuple(text.split())


WORDS: tuple[str, ...] = one_by_one(
    """
    acorn alpine amber anchor antler apricot arrow aspen atlas attic autumn badger bakery bamboo banner barley
    basalt beacon birch biscuit blanket blossom bonfire border bracket breeze bridge bucket butter cabin cactus
    camera candle canyon carbon cedar cellar chapel cherry chimney cinnamon circle cliff clover cobalt comet copper
    coral cottage cradle crayon crystal cushion cyclone dagger daisy damson dawn delta desert diamond dolphin domino
    dragon drawer driftwood dusk eagle easel echo ember emerald engine envelope estuary fabric falcon feather fennel
    fern fiddle finch flannel flint forest fossil fountain fox furnace gallery garden garnet ginger glacier goblet
    granite gravel grove guitar gutter hamlet hammer harbour harvest hazel heron hickory hollow honey horizon hornet
    hurdle iceberg igloo indigo inlet iris island ivory jacket jasmine jigsaw jungle juniper kayak kernel kettle
    kiln kitten knapsack ladder lagoon lantern larch lattice lavender lemon lichen lilac linen lizard lobster locket
    lupin magnet mallet maple marble market marsh meadow melon mercury mirror mitten monsoon mosaic moss mulberry
    mustard napkin nectar needle nettle nickel notch nutmeg oasis oat obsidian ocean olive onyx opal orchard orchid
    otter oyster paddle palace parsley pebble pelican pepper pewter pigeon pillow plaster plateau pocket poppy
    prairie prism pumpkin puzzle quarry quartz quilt quiver raft ravine reef ribbon ridge river rocket rosemary
    rudder rust saddle saffron sandal satchel scarlet shadow shelter shingle silver slate sparrow spiral spruce
    stable steeple summit sundial sycamore tablet tapestry tavern temple thicket thimble thistle thunder tiger
    timber topaz torch tractor trellis tulip tunnel turnip umber umbrella valley vanilla velvet village vine violet
    volcano wagon walnut warbler weaver whistle willow window winter wizard yarrow yeast yonder zebra zenith zephyr
    zinc
    """
)

MARKED_WORDS: tuple[str, ...] = (
    *("bric-a-brac", "can't", "daren't", "e-mail", "fool's", "go-between", "hide-and-seek", "isn't", "jack-knife"),
    *(
        "lily-white",
        "mother-in-law",
        "needn't",
        "o'clock",
        "passer-by",
        "runner-up",
        "shan't",
        "t-shirt",
        "up-to-date",
    ),
    *("we'd", "you'll", "r&d", "b&b", "so-called", "who's", "mustn't", "cold-blooded", "half-time", "well-worn"),
)

PREFIX_PAIRS: tuple[tuple[str, str], ...] = (
    *(("bar", "barn"), ("car", "carpet"), ("cat", "cattle"), ("corn", "corner"), ("dam", "damage"), ("ear", "earth")),
    *(("fan", "fancy"), ("for", "fortune"), ("hand", "handle"), ("imp", "import"), ("jar", "jargon")),
    *(("key", "keyboard"), ("lamp", "lamppost"), ("man", "manner"), ("net", "network"), ("oak", "oaken")),
    *(("pan", "panther"), ("quick", "quicksand"), ("ram", "rampart"), ("sea", "season"), ("tea", "teapot")),
    *(("use", "useful"), ("van", "vanish"), ("war", "wardrobe"), ("yard", "yardstick"), ("zoo", "zoology")),
)
