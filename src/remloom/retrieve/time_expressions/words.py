"""The English words for times."""

from __future__ import annotations

from datetime import datetime, timedelta

from .calendar import Floating, Grain, Span, easter, stretch


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _numbered(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * position for position, word in enumerate(words.split())}


_MONTHS = _numbered(
    "january february march april may june july august september october november december", 1
)
MONTHS = _MONTHS | {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
WEEKDAYS = _numbered("monday tuesday wednesday thursday friday saturday sunday", 0)
SHORT_WEEKDAYS = _numbered("mon tue wed thu fri sat sun", 0)
SHORT_WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month, northern
UNITS = {
    "minute": Grain.MINUTE,
    "hour": Grain.HOUR,
    "day": Grain.DAY,
    "weekend": Grain.WEEKEND,
    "week": Grain.WEEK,
    "fortnight": Grain.WEEK,
    "month": Grain.MONTH,
    "quarter": Grain.QUARTER,
    "year": Grain.YEAR,
    "decade": Grain.DECADE,
    "century": Grain.CENTURY,
}
_ONES = _numbered("one two three four five six seven eight nine", 1)
_TEENS = _numbered(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10
)
_TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
NUMBERS = _ONES | _TEENS | _TENS | {"a": 1, "an": 1, "hundred": 100, "dozen": 12}
VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}  # at least, at most
ORDINALS = (
    _numbered("first second third fourth fifth sixth seventh eighth ninth tenth eleventh", 1)
    | _numbered("twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth", 12)
    | {"nineteenth": 19, "twentieth": 20, "thirtieth": 30}
)
DECADES = {f"{word[:-1]}ies": number for word, number in _TENS.items()}
# parts of a stretch, by what `slices.edge_of` makes of them
EDGES = _set("early mid middle late beginning start end close turn")
DAYPARTS = {
    "morning": (5, 12),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 30),
    "noon": (12, 13),
    "midday": (12, 13),
    "lunchtime": (12, 14),
    "midnight": (23, 25),
    "dawn": (4, 8),
    "dusk": (18, 22),
}  # hours from the day's start


def floating_day(month: int, day: int, days: int = 1) -> Floating:
    """A day of the year, and those that follow it."""

    def make(year: datetime) -> Span | None:
        try:
            return stretch(year.replace(month=month, day=day), Grain.DAY, days)
        except ValueError:
            # 29 February, of most years
            return None

    return Floating(Grain.DAY, Grain.YEAR, make)


def _nth_weekday(month: int, weekday: int, which: int, after: int = 0) -> Floating:
    """The n-th weekday of a month, and days after it."""

    def make(year: datetime) -> Span:
        first = year.replace(month=month)
        until_weekday = (weekday - first.weekday()) % 7
        days = until_weekday + 7 * (which - 1) + after
        return stretch(first + timedelta(days=days), Grain.DAY)

    return Floating(Grain.DAY, Grain.YEAR, make)


def _from_easter(begin: int, days: int) -> Floating:
    def make(year: datetime) -> Span:
        return stretch(easter(year.year) + timedelta(days=begin), Grain.DAY, days)

    return Floating(Grain.DAY, Grain.YEAR, make)


HOLIDAYS: dict[tuple[str, ...], Floating] = {
    tuple(name.split()): holiday
    for name, holiday in {
        "christmas": floating_day(12, 24, 3),
        "xmas": floating_day(12, 24, 3),
        "christmas eve": floating_day(12, 24),
        "christmas day": floating_day(12, 25),
        "boxing day": floating_day(12, 26),
        "new year": floating_day(12, 31, 2),
        "new years": floating_day(12, 31, 2),
        "new year eve": floating_day(12, 31),
        "new years eve": floating_day(12, 31),
        "new year day": floating_day(1, 1),
        "new years day": floating_day(1, 1),
        "valentine day": floating_day(2, 14),
        "valentines day": floating_day(2, 14),
        "halloween": floating_day(10, 31),
        "thanksgiving": _nth_weekday(11, 3, 4),
        "thanksgiving day": _nth_weekday(11, 3, 4),
        "black friday": _nth_weekday(11, 3, 4, after=1),
        "labor day": _nth_weekday(9, 0, 1),
        "independence day": floating_day(7, 4),
        "may day": floating_day(5, 1),
        "bonfire night": floating_day(11, 5),
        "st patrick day": floating_day(3, 17),
        "shrove tuesday": _from_easter(-47, 1),
        "pentecost": _from_easter(49, 2),
        "easter": _from_easter(-2, 4),
        "easter sunday": _from_easter(0, 1),
        "easter monday": _from_easter(1, 1),
        "good friday": _from_easter(-2, 1),
    }.items()
}

_UNIT_FORMS = {form for name in UNITS for form in (name, f"{name}s")} | {"centuries"}
# a question without a digit names no time unless it has one of these words
HINTS = frozenset().union(
    MONTHS, WEEKDAYS, SHORT_WEEKDAYS, SEASONS, DECADES, DAYPARTS, _UNIT_FORMS,
    (f"{day}s" for day in WEEKDAYS), (name[0] for name in HOLIDAYS),
    ("yesterday", "today", "tomorrow", "tonight"),
)  # fmt: skip

# words before a point that make it one end of a stretch: what they mean
OPEN: dict[tuple[str, ...], str] = {
    tuple(lead.split()): meaning
    for meaning, leads in {
        "since": "since, ever since, starting, starting in, beginning in, starting from",
        "after": "after",
        "before": "before, until, till, prior to, up to, up until",
        "soon after": "just after, right after, shortly after, soon after, straight after",
        "just before": "just before, right before, shortly before",
        "in": "all through, right through",
        "by": "by, through, as of",
    }.items()
    for lead in leads.split(",")
}
_BOUND = _set("since after before until till by through to and between from or - – vs of")
_AT = _set("at around about near")
_IN = _set("in during throughout within for over across")
# kinds of points that are times only behind one of these words
TIES: dict[str, frozenset[str]] = {
    "year": _BOUND | _IN | {"around", "circa", "year"},
    "month": _BOUND | _IN | {"around", "the"},
    # "may", "march": mostly verbs
    "lower": (_BOUND - {"to", "of"}) | {"in", "during", "throughout"},
    # "June Carter", "May Chen"
    "namesake": _set("in during throughout"),
    "date": _BOUND | {"on", "around", "for"},
    "weekday": _BOUND | {"on", "for", "around", ""},
    "season": _BOUND | _IN,
    "holiday": (_BOUND - {"of", "to"}) | _AT | {"on", "over", "during"},
    "quarter": _BOUND | _IN,
    "weekend": _BOUND | {"at", "on", "over", "during", "around", "for"},
    "clock": (_BOUND - {"of"}) | _AT,
    "monthday": (_BOUND - {"of"}) | {"on", "around"},
    "decade": _BOUND | _IN,
    # only together with something else: "in the morning", "H1"
    "never": frozenset(),
}
RELATIVE = _set("last past previous recent this next coming upcoming")
NAMESAKES = _set("april may june august jan")  # months that are given names as well
# months that are other words as well, when they have no capital
VERBS = _set("may march mar jan dec")
STOP = _set(
    """
    on in at of to for from by with about that which who whom whose this these those and or but if
    is are was were be been have has had do does did will would can could may might must not me we
    us our their her his its you your them they she it off out up down over under into as than then
    there here when where while
    """
)
# what is counted: "in 2000 words" names a number, not a year
COUNTED = _set(
    """
    people persons users customers employees words characters lines pages files records rows items
    steps times points units copies km miles kilometers kilometres meters metres feet tons kg grams
    calories volts watts dollars euros pounds yen percent tokens votes members students soldiers
    books seats jobs cars homes houses shares hours minutes seconds days weeks months years degrees
    mb gb kb ms hz rpm bytes requests queries turns
    """
)
# words that a point in time may begin with
BEGINNINGS = frozenset().union(HINTS, NUMBERS, VAGUE, ORDINALS, EDGES, RELATIVE, ("the", "half"))
