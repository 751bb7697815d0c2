"""The English words that times are told in."""

from __future__ import annotations

from datetime import datetime, timedelta

from .calendar import Floating, Grain, Span, easter

__all__ = [
    "BEGINNINGS",
    "COUNTED",
    "DAYPARTS",
    "DECADES",
    "EDGES",
    "HINTS",
    "HOLIDAYS",
    "MONTHS",
    "NAMESAKES",
    "NUMBERS",
    "OPEN",
    "ORDINALS",
    "RELATIVE",
    "SEASONS",
    "SHORT_WEEKDAYS",
    "STOP",
    "TIES",
    "UNITS",
    "VAGUE",
    "VERBS",
    "WEEKDAYS",
    "floating_day",
]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTHS = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, 1)
}
MONTHS["sept"] = 9
WEEKDAYS = {
    name: number
    for number, name in enumerate(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    )
}
SHORT_WEEKDAYS = {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month, northern
UNITS = {
    "minute": Grain.MINUTE, "hour": Grain.HOUR, "day": Grain.DAY, "weekend": Grain.WEEKEND, "week": Grain.WEEK,
    "fortnight": Grain.WEEK, "month": Grain.MONTH, "quarter": Grain.QUARTER, "half-year": Grain.HALF,
    "year": Grain.YEAR, "decade": Grain.DECADE, "century": Grain.CENTURY,
}  # fmt: skip
_ONES = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS = (
    {word: number for number, word in enumerate(_ONES) if word}
    | {word: number for number, word in enumerate(_TEENS, 10)}
    | {word: number * 10 for number, word in enumerate(_TENS, 2)}
    | {"a": 1, "an": 1, "hundred": 100, "dozen": 12}
)
VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}  # at least, at most
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip
DECADES = {f"{word[:-1]}ies": number * 10 for number, word in enumerate(_TENS, 2)}
EDGES = {
    "early": 0, "mid": 1, "middle": 1, "late": 2, "beginning": 3, "start": 3, "end": 4, "close": 4, "turn": 3,
}  # fmt: skip
DAYPARTS = {
    "morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30), "noon": (12, 13),
    "midday": (12, 13), "lunchtime": (12, 14), "midnight": (23, 25), "dawn": (4, 8), "dusk": (18, 22),
}  # hours from the day's start  # fmt: skip


def floating_day(month: int, day: int, days: int = 1) -> Floating:
    """A day of the year, and those that follow it."""

    def make(year: datetime) -> Span | None:
        try:
            start = year.replace(month=month, day=day)
        except ValueError:  # 29 February, of most years
            return None
        return Span(start, start + timedelta(days=days), Grain.DAY)

    return Floating(Grain.DAY, Grain.YEAR, make)


def _nth(month: int, weekday: int, which: int, after: int = 0) -> Floating:
    """The n-th weekday of a month, and days after it."""

    def make(year: datetime) -> Span:
        first = year.replace(month=month, day=1)
        day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (which - 1) + after)
        return Span(day, day + timedelta(days=1), Grain.DAY)

    return Floating(Grain.DAY, Grain.YEAR, make)


def _easter(begin: int, days: int) -> Floating:
    def make(year: datetime) -> Span:
        start = easter(year.year) + timedelta(days=begin)
        return Span(start, start + timedelta(days=days), Grain.DAY)

    return Floating(Grain.DAY, Grain.YEAR, make)


HOLIDAYS: dict[tuple[str, ...], Floating] = {
    ("christmas",): floating_day(12, 24, 3),
    ("xmas",): floating_day(12, 24, 3),
    ("christmas", "eve"): floating_day(12, 24),
    ("christmas", "day"): floating_day(12, 25),
    ("boxing", "day"): floating_day(12, 26),
    ("new", "year"): floating_day(12, 31, 2),
    ("new", "years"): floating_day(12, 31, 2),
    ("new", "year", "eve"): floating_day(12, 31),
    ("new", "years", "eve"): floating_day(12, 31),
    ("new", "year", "day"): floating_day(1, 1),
    ("new", "years", "day"): floating_day(1, 1),
    ("valentine", "day"): floating_day(2, 14),
    ("valentines", "day"): floating_day(2, 14),
    ("halloween",): floating_day(10, 31),
    ("thanksgiving",): _nth(11, 3, 4),
    ("thanksgiving", "day"): _nth(11, 3, 4),
    ("black", "friday"): _nth(11, 3, 4, after=1),
    ("labor", "day"): _nth(9, 0, 1),
    ("independence", "day"): floating_day(7, 4),
    ("easter",): _easter(-2, 4),
    ("easter", "sunday"): _easter(0, 1),
    ("easter", "monday"): _easter(1, 1),
    ("good", "friday"): _easter(-2, 1),
}

_PLAIN_UNITS = {form for name in UNITS for form in (name, f"{name}s")} | {"centuries"}
HINTS = frozenset(  # words without one of which a question without a digit names no time
    {
        *MONTHS, *WEEKDAYS, *SHORT_WEEKDAYS, *SEASONS, *DECADES, *DAYPARTS, *_PLAIN_UNITS, "yesterday", "today",
        "tomorrow", "tonight", *(name[0] for name in HOLIDAYS),
    }
)  # fmt: skip


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPEN = {  # words before a point that make it one end: what they mean
    ("since",): "since", ("ever", "since"): "since", ("after",): "after", ("before",): "before", ("until",): "before",
    ("till",): "before", ("prior", "to"): "before", ("up", "to"): "before", ("up", "until"): "before", ("by",): "by",
    ("through",): "by", ("as", "of"): "by", ("starting",): "since", ("starting", "in"): "since",
    ("beginning", "in"): "since", ("starting", "from"): "since",
}  # fmt: skip
_BOUND = _split("since after before until till by through to and between from or - – vs of")
_AT = _split("at around about near")
_IN = _split("in during throughout within for over across")
TIES: dict[str, frozenset[str]] = {  # kinds of points that are times only behind one of these words
    "year": _BOUND | _IN | {"around", "circa", "year"},
    "month": _BOUND | _IN | {"around", "the"},
    # "may", "march": mostly verbs
    "lower": (_BOUND - {"to", "of"}) | {"in", "during", "throughout"},
    "namesake": _split("in during throughout"),  # "June Carter", "May Chen"
    "date": _BOUND | {"on", "around", "for"},
    "weekday": _BOUND | {"on", "for", "around", ""},
    "season": _BOUND | _IN,
    "holiday": (_BOUND - {"of", "to"}) | _AT | {"on", "over", "during"},
    "quarter": _BOUND | _IN,
    "weekend": _BOUND | {"at", "on", "over", "during", "around", "for"},
    "clock": (_BOUND - {"of"}) | _AT,
    "monthday": (_BOUND - {"of"}) | {"on", "around"},
    "decade": _BOUND | _IN,
    "never": frozenset(),  # only together with something else: "in the morning", "H1"
}
RELATIVE = _split("last past previous this next coming upcoming")
NAMESAKES = _split("april may june august jan")  # months that are given names as well
# months that are other words as well, when they have no capital
VERBS = _split("may march mar jan dec")
STOP = _split(
    """
    on in at of to for from by with about that which who whom whose this these those and or but if is are was were be
    been have has had do does did will would can could may might must not me we us our their her his its you your
    them they she it off out up down over under into as than then there here when where while
    """
)
COUNTED = _split(
    """
    people persons users customers employees words characters lines pages files records rows items steps times points
    units copies km miles kilometers kilometres meters metres feet tons kg grams calories volts watts dollars euros
    pounds yen percent tokens votes members students soldiers books seats jobs cars homes houses shares hours minutes
    seconds days weeks months years degrees mb gb kb ms hz rpm bytes requests queries turns
    """
)  # "in 2000 words": a number, no year
# of a point in time
BEGINNINGS = frozenset((*HINTS, *NUMBERS, *VAGUE, *ORDINALS, *EDGES, *RELATIVE, "the", "half"))
