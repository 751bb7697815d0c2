"""The pages in a real browser: whoever looks at them finds what is there, and can do it all by
keyboard."""

from __future__ import annotations

import json
import re
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("axe_playwright_python")

from browsing import Server, call, looking_at, running_server, violations
from endpoint import endpoint, said
from remloom import Memory, Settings
from remloom.tenancy.api_keys import SCOPES, ApiKeys

PAGES = {
    "ask": "Ask",
    "ask?q=What does a berth cost": "Ask",
    "ask?q=What does a berth cost&view=prompt": "Ask",
    "timeline": "Timeline",
    "graph/Sarah Chen": "Graph",
    "record/Prices": "Prices",
    "console?statement=LOOKUP Prices": "Console",
    "console?statement=LOOKP": "Console",
    "profile": "Profile",
    "profile?view=agents": "Profile",
    "profile?view=learn": "Profile",
    "documents": "Documents",
    "documents/note:prices": "Prices",
    "dreams": "Dreams",
    "dreams?view=begin": "Dreams",
    "dreams?view=stale": "Dreams",
    "dreams?view=metrics": "Dreams",
    "jobs": "Jobs",
    "keys": "Keys and audit",
    "keys?view=audit": "Keys and audit",
}


def beliefs(looking: Any) -> Any:
    return call(looking, "GET", "profile")["beliefs"]


def overflows(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.mark.parametrize(("address", "heading"), PAGES.items(), ids=PAGES)
def test_a_page_is_accessible_light_and_dark_wide_and_narrow(
    shared: Any, address: str, heading: str
) -> None:
    shared.open(address)
    page = shared.page
    assert page.locator("h1").inner_text() == heading
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert violations(page) == [], (scheme, width)
        assert not overflows(page), (scheme, width)
    assert shared.complaints == []
    assert {url for url in shared.requests if not url.startswith(shared.server.url)} == set()


def test_nobody_comes_in_without_a_key(looking: Any) -> None:
    page = looking.page
    page.goto(f"{looking.server.url}/ui/#/profile")
    page.get_by_label("Key").fill("rlm_nobody_" + "x" * 43)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    assert page.locator("nav").count() == 0
    assert violations(page) == []


def test_the_cookie_is_not_for_scripts_and_ends_with_signing_out(signed_in: Any) -> None:
    page = signed_in.page
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Key").wait_for()
    page.reload()
    page.get_by_label("Key").wait_for()


def test_a_key_that_only_reads_is_offered_only_that(looking: Any) -> None:
    looking.sign_in(looking.server.reading_key)
    page = looking.page
    for address in ("record/Prices", "documents", "profile", "dreams?view=begin", "keys",
                    "profile?view=learn"):  # fmt: skip
        looking.open(address)
        assert page.get_by_role("button", name="Forget").count() == 0
        assert page.get_by_role("button", name="Choose files").count() == 0
        assert page.get_by_role("button", name="Say something").count() == 0
        assert page.get_by_role("button", name="Show what it would do").count() == 0
        assert page.get_by_role("button", name="Make a key").count() == 0
        assert page.get_by_role("button", name="Show what it would learn").count() == 0
        assert page.get_by_role("button", name="up to date").count() == 0
        assert page.get_by_role("tab", name="Learn").count() == 0


@pytest.mark.parametrize(
    "address",
    [
        "record/note%3Ahostile",
        "ask?q=who hacked the window&anyway=1",
        "documents",
        "documents/note%3Ahostile",
        'console?statement=SEARCH TEXT "red" IN resources',
        "graph/A <b>bold</b> note",
    ],
)
def test_what_is_remembered_is_text(shared: Any, address: str) -> None:
    shared.open(address)
    page = shared.page
    assert page.evaluate("window.hacked") is None
    assert page.locator("main b, main script, main img").count() == 0
    assert "\x1b" not in page.locator("main").inner_text()


def test_markup_and_control_characters_are_shown(shared: Any) -> None:
    shared.open("ask?q=who hacked the window&anyway=1")
    text = shared.page.locator("main").inner_text()
    assert "<script>window.hacked = 1</script>" in text
    assert "\u241b[31mred" in text
    assert "A <b>bold</b> note" in text


def test_a_question_is_asked_by_keyboard_alone(signed_in: Any) -> None:
    page = signed_in.page
    page.keyboard.press("/")
    page.keyboard.type("What does a berth cost?")
    page.keyboard.press("Enter")
    hit = page.locator("article").first
    hit.wait_for()
    assert "190 euros" in hit.inner_text()
    assert "the words" in hit.get_by_role("list").inner_text()


def test_going_back_shows_what_was_asked_before(signed_in: Any) -> None:
    page = signed_in.page
    for statement in ("LOOKUP Prices", "LOOKUP nothing"):
        signed_in.open(f"console?statement={statement}")
    page.get_by_text("Nothing was found").wait_for()
    page.go_back()
    page.get_by_role("region", name="Records, best first").wait_for()
    assert page.get_by_label("Statement").input_value() == "LOOKUP Prices"


def test_shortcuts_are_listed_lead_to_pages_and_can_be_turned_off(signed_in: Any) -> None:
    page = signed_in.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    assert violations(page) == []
    dialog.get_by_label("Shortcuts are on").press("Space")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.keyboard.press("g")
    page.keyboard.press("p")
    assert page.locator("h1").inner_text() == "Ask"
    page.evaluate("localStorage.clear()")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.get_by_role("heading", name="Profile").wait_for()


def test_every_stop_of_the_keyboard_can_be_seen(signed_in: Any) -> None:
    signed_in.open("profile")
    page = signed_in.page
    page.locator("body").press("Tab")
    seen = set()
    for _ in range(24):
        outline, name = page.evaluate(
            "() => { const at = document.activeElement;"
            " return [getComputedStyle(at).outlineStyle, at.outerHTML.slice(0, 90)] }"
        )
        # after the last stop comes the browser itself
        assert outline != "none" or name.startswith("<body"), name
        seen.add(name)
        page.keyboard.press("Tab")
    assert len(seen) > 15


def test_nothing_fits_and_the_page_says_so(signed_in: Any) -> None:
    signed_in.open("ask?q=zebras in Mongolia")
    assert (
        "Nothing in this memory answers that" in signed_in.page.get_by_role("status").inner_text()
    )


def test_the_page_says_by_what_it_found_and_by_nothing_else(signed_in: Any) -> None:
    def status(question: str) -> str:
        signed_in.open(f"ask?q={question}")
        return signed_in.page.get_by_role("status").inner_text()

    # there is no model that knows meanings
    assert "found by words, names and edges" in (
        asked := status("What did Sarah Chen decide on a berth?")
    )
    assert "meaning" not in asked
    found = status("What does a berth cost?")
    assert re.search(r"found by words$", found, re.MULTILINE)
    assert "found by time" in status("What happened on 2 March 2026?")


def test_forgetting_shows_what_would_go_and_then_the_receipt(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("record/Passing note")
    page.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("cannot be taken back").wait_for()
    assert violations(page) == []
    dialog.get_by_role("button", name="Keep it").click()
    dialog.wait_for(state="detached")
    page.get_by_role("button", name="Forget").click()
    dialog.get_by_role("button", name="Forget for good").click()
    dialog.get_by_role("heading", name="Forgotten").wait_for()
    assert "yes, nothing remains" in dialog.inner_text()
    dialog.get_by_role("button", name="Done").click()
    signed_in.open('console?statement=LOOKUP "Passing note"')
    page.get_by_text("Nothing was found").wait_for()


def test_forgetting_a_person_shows_the_texts_that_still_name_them(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("record/Sarah Chen")
    page.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("records that stay say its name").wait_for()
    assert violations(page) == []
    dialog.get_by_role("link").first.click()
    page.get_by_text("a berth costs 190 euros").first.wait_for()


def test_beliefs_are_filtered_and_each_shows_how_much_says_it(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("profile")
    main = page.locator("main")
    main.get_by_text("by 1 statement").first.wait_for()
    assert "Tentative" not in main.inner_text()
    before = page.locator("article.belief").count()
    page.get_by_label("Only beliefs with").fill("peanut allerg")
    main.get_by_text(f"1 of {before} beliefs").wait_for()
    assert page.locator("article.belief").count() == 1
    assert violations(page) == []


def test_of_two_values_that_may_hold_each_is_shown_and_can_be_confirmed(signed_in: Any) -> None:
    page = signed_in.page
    profile = call(signed_in, "GET", "profile")
    (belief,) = (one for one in profile["beliefs"] if one["label"] == "Location")
    belief |= {"state": "disputed", "rivals": [{"value": "Narvik", "since": belief["since"]}]}
    page.route(re.compile(r"/v1/profile(\?.*)?$"), lambda route: route.fulfill(json=profile))
    sent: list[Any] = []
    page.route(
        "**/v1/profile/confirm",
        lambda route: (sent.append(route.request.post_data_json), route.fulfill(json={})),
    )
    signed_in.open("profile")
    page.get_by_label("Only beliefs with").fill("narvik")
    page.locator("article.belief").get_by_text("Lisbon or Narvik").wait_for()
    page.get_by_role("button", name="Why: Location: Lisbon").click()
    page.get_by_role("button", name="Confirm Lisbon").wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Confirm Narvik").click()
    page.get_by_text("Confirmed: Location: Narvik").wait_for()
    assert [one["value"] for one in sent] == ["Narvik"]


def test_a_belief_has_its_words_and_is_edited_hidden_and_forgotten(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("profile")
    page.get_by_role("button", name="Why: Location: Lisbon").click()
    page.get_by_text("“I live in Lisbon.”").wait_for()
    page.get_by_role("button", name="This was wrong").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is so instead").fill("Porto")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Location: Porto").wait_for()
    page.get_by_role("button", name="Why: Allergies: peanuts").click()
    page.get_by_role("button", name="Hide from agents").last.click()
    page.get_by_text("Hidden from agents: Allergies: peanuts").wait_for()
    page.get_by_role("button", name="Forget").last.click()
    dialog.get_by_role("button", name="Forget for good").click()
    dialog.get_by_role("heading", name="Forgotten").wait_for()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_text("Forgotten: Allergies: peanuts").wait_for()
    page.get_by_role("button", name="Close: Allergies: peanuts").wait_for(state="detached")


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "hasOwnProperty"])
@pytest.mark.parametrize(
    "address", ["{}", "graph/{}", "profile?of={}", "profile?view={}", "ask?q={}",
                "documents/{}", "timeline?about={}", "timeline?month={}", "dreams?view={}"]
)  # fmt: skip
def test_what_every_object_has_is_a_name_like_others(shared: Any, address: str, name: str) -> None:
    shared.open(address.format(name))
    shared.page.locator("main").get_by_role("heading").first.wait_for()
    assert shared.complaints == []


def test_a_thing_with_the_name_of_what_every_object_has_is_drawn(signed_in: Any) -> None:
    server = signed_in.server
    for name in ("constructor", "toString", "__proto__"):
        edge = {"src": name, "rel_type": "knows", "dst": "Somebody"}
        bearer = {"Authorization": f"Bearer {server.key}"}
        httpx.post(f"{server.url}/v1/edges", json={"edge": edge}, headers=bearer).raise_for_status()
        signed_in.open(f"graph/{name}")
        signed_in.page.get_by_text("edges").first.wait_for()
        signed_in.page.wait_for_function(
            "() => document.querySelectorAll('.canvas canvas').length > 0"
        )
        assert signed_in.complaints == []


def test_what_is_no_longer_so_is_ended_and_can_be_seen_among_the_changes(signed_in: Any) -> None:
    page = signed_in.page
    call(signed_in, "POST", "profile/set", json={"slot": "environment.shell", "value": "fish"})
    signed_in.open("profile")
    page.get_by_role("button", name="Why: Shell: fish").click()
    page.get_by_role("button", name="This has changed").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_text("No longer so: Shell: fish").wait_for()
    page.get_by_role("tab", name="Changes").click()
    row = page.get_by_role("row", name="Shell").first
    assert row.inner_text().split("\t")[1:4] == ["Shell", "fish", "no longer"]


def test_a_profile_is_exported_as_a_file_that_can_be_imported(
    signed_in: Any, tmp_path: Path
) -> None:
    signed_in.open("profile")
    with signed_in.page.expect_download() as download:
        signed_in.page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == "profile-me.json"
    download.value.save_as(tmp_path / "me.json")
    with Memory.open(tmp_path / "other", tenant="default", embedder="none") as other:
        assert other.profile.import_(tmp_path / "me.json").evidence > 0
        assert "I live in Lisbon." in {
            one.quote for one in other.profile.why("location").evidence
        }  # fmt: skip
    assert signed_in.complaints == []


def test_a_text_is_looked_at_before_it_is_learned_and_is_taken_back(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("profile?view=learn")
    page.get_by_label("A text of yours").fill("I have a dog called Bolt. <b>I use Emacs.</b>")
    page.get_by_role("button", name="Show what it would learn").click()
    page.get_by_role("region", name="What would be learned").wait_for()
    assert "Bolt" in page.get_by_role("region", name="What would be learned").inner_text()
    assert violations(page) == []
    assert "Bolt" not in json.dumps(beliefs(signed_in))
    page.get_by_role("button", name="Learn it").click()
    page.get_by_text(re.compile(r"^Learned \d+ statement")).wait_for()
    assert "Bolt" in json.dumps(beliefs(signed_in))
    assert violations(page) == []
    page.get_by_role("button", name="Take it back").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Take it back").click()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_text("Taken back: the profile is as it was.").wait_for()
    assert "Bolt" not in json.dumps(beliefs(signed_in))
    page.get_by_role("link", name="your text").click()
    page.get_by_text("I have a dog called Bolt. <b>").first.wait_for()


def test_what_is_in_a_language_that_is_not_heard_is_said(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("profile?view=learn")
    text = "da quando è nata la piccola dormo quattro ore per notte"
    page.get_by_label("A text of yours").fill(text)
    page.get_by_role("button", name="Show what it would learn").click()
    page.get_by_text("1 passage is in Italian, which is not heard yet.").wait_for()
    assert violations(page) == []


def test_everything_is_looked_at_anew(signed_in: Any) -> None:
    page = signed_in.page
    call(signed_in, "POST", "profile/bootstrap", json={})
    signed_in.open("profile?view=learn")
    page.get_by_label("What to look at").select_option("bootstrap")
    page.get_by_role("button", name="Show what it would learn").click()
    page.get_by_role("status").filter(has_text="Nothing new is said of anybody").wait_for()
    assert page.get_by_role("button", name="Learn it").count() == 0


def test_why_nothing_can_be_learned_is_said_with_the_remedy(signed_in: Any) -> None:
    page = signed_in.page
    refused = {"status": 409, "title": "ConflictError", "detail": "a scan is going on",
               "remedy": "wait for it to end"}  # fmt: skip
    page.route("**/v1/profile/observe", lambda route: route.fulfill(status=409, json=refused))
    signed_in.open("profile?view=learn")
    page.get_by_role("button", name="Show what it would learn").click()
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text().split("\n") == ["a scan is going on", "", "wait for it to end"]


def test_what_a_slot_offers_is_shown_in_words(signed_in: Any) -> None:
    call(signed_in, "POST", "profile/set", json={"slot": "decision style", "value": "ask_first"})
    signed_in.open("profile")
    signed_in.page.get_by_role("button", name="Why: Decision style: ask first").click()
    signed_in.page.get_by_text(
        call(signed_in, "GET", "profile/slots/decision style")["question"]
    ).wait_for()
    assert "ask_first" not in signed_in.page.locator("main").inner_text()


def test_a_database_is_brought_up_to_date(browser: Any, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        shop.execute("INSERT INTO customers (name) VALUES ('Ada Lovelace')")
        shop.commit()
    home = tmp_path / "home"
    with Memory.open(home, tenant="default", embedder="none") as memory:
        found = memory.schemas.discover(str(tmp_path / "shop.db"), "shop")
        memory.schemas.register_from_discovery(found)
    with ApiKeys(Settings(home=str(home), embedder="none")) as keys:
        key = keys.create("all", SCOPES, tenant="default").key
        reading = keys.create("reading", ["read"], tenant="default").key
    with (
        running_server(home) as url,
        looking_at(Server(url, key, reading), browser) as looking,
    ):
        page, dialog = looking.page, looking.page.get_by_role("dialog")
        looking.sign_in(key)
        looking.open("documents")
        row = page.get_by_role("region", name="Databases that are followed").get_by_role("row").last
        assert "never" in row.inner_text()
        row.get_by_role("button", name="Bring shop up to date").click()
        dialog.get_by_text("This would be written").wait_for()
        assert violations(page) == []
        assert "Added\n1" in dialog.inner_text()
        dialog.get_by_role("button", name="Write it").click()
        dialog.get_by_role("heading", name="Up to date").wait_for()
        dialog.get_by_role("button", name="Done").click()
        row.get_by_text("never").wait_for(state="detached")
        looking.open("record/Ada Lovelace")
        assert page.locator("h1").inner_text() == "Ada Lovelace"
        assert looking.complaints == []
    with running_server(home) as url, looking_at(Server(url, key, reading), browser) as looking:
        looking.sign_in(reading)
        looking.open("documents")
        looking.page.get_by_role("region", name="Databases that are followed").wait_for()
        assert looking.page.get_by_role("button", name="up to date").count() == 0


def test_two_customers_that_are_one_are_separated(browser: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, tenant="default", embedder="none") as memory:
        for name in ("crm", "shop"):
            with closing(sqlite3.connect(tmp_path / f"{name}.db")) as made:
                made.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT)")
                made.execute("INSERT INTO customers VALUES (1, 'ada@example.com')")
                made.commit()
            found = memory.schemas.discover(str(tmp_path / f"{name}.db"), name)
            memory.schemas.register_from_discovery(found)
        memory.schemas.identify("customers", ["email"])
        memory.schemas.identify("shop_customers", ["email"])
        memory.schemas.sync("crm")
    with ApiKeys(Settings(home=str(home), embedder="none")) as keys:
        key = keys.create("all", SCOPES, tenant="default").key
    with running_server(home) as url, looking_at(Server(url, key, key), browser) as looking:
        looking.sign_in(key)
        looking.open("documents")
        page, dialog = looking.page, looking.page.get_by_role("dialog")
        page.get_by_role("button", name="Bring shop up to date").click()
        dialog.get_by_role("button", name="Write it").click()
        dialog.get_by_text("customer-1 and customer/shop-1 are one thing").wait_for()
        assert violations(page) == []
        dialog.get_by_role("button", name="Separate").click()
        dialog.get_by_text("customer-1 and customer/shop-1 are two things").wait_for()
        dialog.get_by_role("button", name="Unite").wait_for()
        assert looking.complaints == []
    with Memory.open(home, tenant="default", embedder="none") as memory:
        assert len(memory.lookup("customer-1").records) == 1


def test_a_conversation_is_called_by_its_chat_and_when_it_was(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("timeline")
    name = page.get_by_role("link", name=re.compile(r"^Maria, \d"))
    name.wait_for()
    assert "session 1" not in page.locator("main").inner_text()
    name.click()
    page.get_by_role("heading", name="Maria, Mar 2, 2026", exact=True).wait_for()
    # its edges are still found by the name that it has in the store
    page.get_by_role("link", name="Show in the graph").click()
    page.get_by_text(re.compile(r"\d+ things, \d+ edges")).wait_for()
    assert page.get_by_label("Begin with").input_value().startswith("Maria, session 1")


@pytest.mark.parametrize("width", [1280, 400])
def test_months_stand_on_one_line_and_the_newest_are_in_view(signed_in: Any, width: int) -> None:
    page = signed_in.page
    for month in range(1, 13):
        note = {
            "text": f"Tide {month}.",
            "uri": f"t{month}.md",
            "at": f"2025-{month:02}-03T09:00:00Z",
        }
        for letter in "ab"[: 1 + month % 2]:
            call(signed_in, "POST", "texts", json={**note, "uri": f"{letter}{month}.md"})
    page.set_viewport_size({"width": width, "height": 800})
    signed_in.open("timeline")
    boxes = [one.bounding_box() for one in page.locator(".months .month").all()]
    assert len(boxes) > 12
    assert len({box["y"] for box in boxes}) == 1
    assert boxes[-1]["x"] + boxes[-1]["width"] <= width
    assert not overflows(page)


def test_the_newest_of_many_moments_are_shown(signed_in: Any) -> None:
    page = signed_in.page
    # later than what any other test of this server writes
    moments = [
        {
            "schema": "moments",
            "name": f"Tide {number}",
            "starts_at": f"{2900 + number}-02-01T09:00:00Z",
        }
        for number in range(5)
    ]
    call(signed_in, "POST", "write", json={"records": moments})

    def fewer(most: int) -> Any:
        def served(route: Any) -> None:
            answer = route.fetch()
            text = answer.text().replace("AT_ONCE = 1000", "AT_ONCE = 2")
            route.fulfill(response=answer, body=text.replace("MOST = 10_000", f"MOST = {most}"))

        return served

    for most, said_of in ((1_000, "moments"), (4, "4 moments of the newest 4")):
        page.route("**/pages/timeline.js", fewer(most))
        page.goto("about:blank")
        page.goto(f"{signed_in.server.url}/ui/#/timeline")
        page.get_by_role("status").filter(has_text=said_of).wait_for()
        page.get_by_role("link", name="Tide 4").wait_for()
        assert page.get_by_role("link", name="Tide 0").count() == (most == 1_000)


def test_an_excerpt_shows_no_marks_of_headings_and_no_empty_braces(signed_in: Any) -> None:
    signed_in.open("ask?q=What does a berth cost")
    text = signed_in.page.locator("main").inner_text()
    assert "190 euros" in text
    assert "# " not in text
    signed_in.open("ask?q=What happened on 2 March 2026?")
    assert signed_in.page.locator("article").count() > 0
    assert "{}" not in signed_in.page.locator("main").inner_text()


def test_the_chosen_view_is_in_sight_on_a_narrow_screen(signed_in: Any) -> None:
    page = signed_in.page
    page.set_viewport_size({"width": 400, "height": 800})
    signed_in.open("profile?view=learn")
    box = page.get_by_role("tab", name="Learn").bounding_box()
    assert box["x"] + box["width"] <= 400


def test_the_profile_of_another_speaks_of_them(signed_in: Any) -> None:
    page = signed_in.page
    for subject in ("", "Olga"):
        values = {"slot": "identity.employer", "value": "Acme", "subject": subject}
        call(signed_in, "POST", "profile/set", json=values)
    for address, heading in (("profile", "Who you are"), ("profile?of=Olga", "Who they are")):
        signed_in.open(address)
        page.get_by_role("heading", name=heading, exact=True).wait_for()


def test_why_a_profile_cannot_be_shown_is_said_and_tried_again(signed_in: Any) -> None:
    page = signed_in.page
    refused = {"status": 503, "title": "StoreBusyError", "detail": "the store is busy",
               "remedy": "try again"}  # fmt: skip
    page.route("**/v1/profile/slots", lambda route: route.fulfill(status=503, json=refused))
    signed_in.open("profile")
    assert "the store is busy\n\ntry again" in page.get_by_role("alert").inner_text()
    page.unroute("**/v1/profile/slots")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Who you are").wait_for()


# Answers come in the order of the questions, or the other way round, each after the one before.
@pytest.mark.parametrize("first", [0, 600])
def test_nothing_moves_while_a_page_loads(signed_in: Any, first: int) -> None:
    page = signed_in.page
    values = {"slot": "identity.employer", "value": "Acme", "subject": "Olga"}
    call(signed_in, "POST", "profile/set", json=values)
    page.add_init_script(
        f"const ask = fetch; let wait = {first};"
        f" window.fetch = (...how) => {{ const late = wait; wait += {first} ? -100 : 100;"
        " return ask(...how).then((answer) => new Promise((done) => setTimeout(done, late, answer))) };"
        " window.moved = []; new PerformanceObserver((list) => { for (const one of list.getEntries())"
        " moved.push(...one.sources.map(({ node, previousRect: { x, y, height } }) =>"
        " [node?.outerHTML?.slice(0, 90), x, y, height])) })"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    for address in ("profile", "profile?view=learn", "timeline", "documents", "keys"):
        page.goto("about:blank")
        page.goto(f"{signed_in.server.url}/ui/")
        signed_in.open(address)
        page.wait_for_load_state("networkidle")
        page.wait_for_function("!document.querySelector('main .busy')")
        assert page.evaluate("moved") == [], address


def test_slots_are_searched_and_stand_in_groups(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("profile")
    page.get_by_role("button", name="Say something").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Search").fill("verbosity")
    assert dialog.locator("optgroup").evaluate_all("all => all.map(one => one.label)") == [
        "Stable defaults", "Output contract",
    ]  # fmt: skip
    assert dialog.locator("option").count() == 1 + 2


def test_the_graph_opens_with_edges_and_its_table_says_the_same(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("graph/Sarah Chen")
    page.get_by_role("button", name="mentions all shown").wait_for()
    page.get_by_text("2 things, 2 edges").wait_for()
    row = page.get_by_role("region", name="The edges that are drawn").get_by_role("row").last
    assert row.inner_text().split("\t") == ["Prices", "mentions", "Sarah Chen"]
    page.wait_for_function("() => document.querySelectorAll('.canvas canvas').length > 0")
    assert signed_in.complaints == []


def test_the_console_completes_names_and_runs_by_keyboard(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("console")
    statement = page.get_by_label("Statement")
    statement.press_sequentially('LOOKUP "pri')
    page.get_by_role("option", name="Prices").wait_for()
    statement.press("Tab")
    assert statement.input_value() == 'LOOKUP "Prices" '
    statement.press("Control+Enter")
    table = page.get_by_role("region", name="Records, best first")
    table.wait_for()
    assert table.get_by_role("link", name="Prices", exact=True).count() > 0
    page.get_by_role("button", name="Explain").click()
    page.get_by_role("region", name="Rows").wait_for()


def test_the_console_says_what_a_label_means(signed_in: Any) -> None:
    server, page = signed_in.server, signed_in.page
    records = [
        {"schema": "entities", "name": "Mercury", "type": "planet"},
        {"schema": "entities", "name": "Mercury", "type": "musician"},
    ]
    bearer = {"Authorization": f"Bearer {server.key}"}
    written = httpx.post(f"{server.url}/v1/write", json={"records": records}, headers=bearer)
    written.raise_for_status()
    signed_in.open("console")
    page.get_by_label("Statement").fill("TRAVERSE WITH LOOKUP mercury")
    page.get_by_label("Statement").press("Control+Enter")
    told = page.get_by_text("means 2 things")
    told.wait_for()
    assert told.get_by_role("link", name="Mercury").count() == 2
    assert "planet" in told.inner_text()
    for id in written.json()["ids"]:
        httpx.post(f"{server.url}/v1/forget", json={"targets": [id]}, headers=bearer)


def test_a_dream_is_shown_before_it_is_written_and_can_be_taken_back(signed_in: Any) -> None:
    server, page = signed_in.server, signed_in.page
    written = {"text": "Olga repaired a violin with Pavel.", "uri": "violin.md"}
    bearer = {"Authorization": f"Bearer {server.key}"}
    httpx.post(f"{server.url}/v1/texts", json=written, headers=bearer).raise_for_status()
    signed_in.open("dreams?view=begin")
    page.get_by_label("What to do").select_option("moments")
    page.get_by_label("Of the last hours").fill("1000000")
    page.get_by_role("button", name="Show what it would do").click()
    page.get_by_text("This is what would be written").wait_for()
    page.get_by_role("button", name="Write it").click()
    page.get_by_role("link", name="Look at the run").click()
    page.get_by_role("button", name="Take it back").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Take it back").click()
    dialog.get_by_role("heading", name="Taken back").wait_for()


def test_a_key_is_made_shown_once_and_revoked(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("keys")
    page.get_by_role("button", name="Make a key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("visitor")
    assert violations(page) == []
    dialog.get_by_role("button", name="Make it").click()
    key = dialog.locator("pre")
    key.wait_for()
    secret = key.inner_text()
    request = urllib.request.Request(
        f"{signed_in.server.url}/v1/stats", headers={"Authorization": f"Bearer {secret}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["tenant"] == "default"
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Revoke visitor").click()
    dialog.get_by_role("button", name="Revoke it").click()
    page.get_by_role("cell", name="visitor", exact=True).wait_for(state="detached")


def test_a_dropped_file_is_read_and_can_be_looked_through(signed_in: Any, tmp_path: Path) -> None:
    page = signed_in.page
    note = tmp_path / "tides.md"
    note.write_text("# Tides\n\nThe water is high at noon.\n")
    signed_in.open("documents")
    page.get_by_label("Files to read").set_input_files(note)
    page.get_by_role("region", name="Files that were read").wait_for()
    page.get_by_role("link", name="Tides").click()
    page.get_by_label("What do you want to know?").fill("When is the water high?")
    page.get_by_role("button", name="Find passages").click()
    page.locator("ol .memory", has_text="high at noon").wait_for()


def test_a_page_chosen_before_anything_listens_is_opened(signed_in: Any) -> None:
    page = signed_in.page
    # the effects of a page run after a frame, which never comes until the hash is another
    page.add_init_script(
        """
        const listen = window.addEventListener;
        window.addEventListener = function (kind, ...rest) {
          if (kind === "hashchange" && location.hash !== "#/documents") location.hash = "#/documents";
          return setTimeout(() => listen.call(window, kind, ...rest), kind === "hashchange" ? 500 : 0);
        };
        """
    )
    signed_in.open("timeline")
    page.reload()
    page.get_by_role("heading", name="Documents", level=1).wait_for()


def test_older_documents_are_shown_when_asked_for(signed_in: Any) -> None:
    page = signed_in.page
    page.route("**/pages/documents.js", fewer_at_once)
    page.reload()
    signed_in.open("documents")
    rows = page.get_by_role("region", name="Documents, the newest first").get_by_role("row")
    heading = page.get_by_text("The newest 2 documents")
    heading.wait_for()
    rows.nth(2).wait_for()
    assert rows.count() == 1 + 2
    page.get_by_role("button", name="Show older ones").click()
    heading.wait_for(state="detached")
    rows.nth(3).wait_for()
    assert violations(page) == []


def fewer_at_once(route: Any) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace("AT_ONCE = 500", "AT_ONCE = 2"))


def test_the_answer_of_a_model_is_shown_with_its_lines(browser: Any, tmp_path: Path) -> None:
    read = {
        "found": True,
        "missing": "",
        "sentences": [
            {
                "text": "The ferry leaves at noon.",
                "document": "",
                "first_line": 1,
                "last_line": 1,
                "quote": "The ferry to Corvo leaves at noon.",
            }
        ],
    }
    step = {
        "thought": "", "notes": "", "reading_mode": "read", "goal": "", "next_move": "answer",
        "sql_query": "SELECT line_num, text FROM documents", "satisfied": True,
    }  # fmt: skip

    def answer(number: int, body: dict[str, Any]) -> Any:
        text = json.dumps(body["messages"])
        return said(json.dumps(step if "sql_query" in text else read))

    with Memory.open(tmp_path, tenant="default", embedder="none") as memory:
        memory.read_text("The ferry to Corvo leaves at noon.", uri="note:ferry", name="Ferry")
    with ApiKeys(Settings(home=str(tmp_path), embedder="none")) as keys:
        key = keys.create("all", SCOPES, tenant="default").key
    with (
        endpoint(answer) as model,
        running_server(
            tmp_path,
            REMLOOM_MODEL_CALLS="",
            REMLOOM_LLM_MODEL="openai:tiny-1",
            REMLOOM_LLM_BASE_URL=model.url,
            REMLOOM_LLM_API_KEY="none",
        ) as url,
        looking_at(Server(url, key, key), browser) as looking,
    ):
        page = looking.page
        looking.sign_in(key)
        looking.open("documents/note:ferry")
        page.get_by_label("What do you want to know?").fill("When does the ferry leave?")
        page.get_by_role("button", name="Ask the model").click()
        page.locator(".memory", has_text="The ferry leaves at noon.").wait_for()
        page.get_by_text("The model saw").wait_for()
        assert page.get_by_role("button", name="Lines 1–1").count() == 1
        assert violations(page) == []
        assert looking.complaints == []
        assert model.bodies


def test_jobs_are_listed_and_removed(signed_in: Any) -> None:
    page = signed_in.page
    signed_in.open("jobs")
    assert "Moments" in page.get_by_role("region", name="Jobs").inner_text()
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("Nothing has been given to do").wait_for()
