// Profile: what is believed of a person, hub by hub, each belief with the words that say it.

import { get, post, segment } from "../lib/api.js";
import { Badge, Busy, Empty, Failure, Field, Forget, Loaded, Page, Quote, Stale, Table, Tabs, When, of } from "../lib/parts.js";
import { Edit } from "./profile-edit.js";
import { Learn, Unheard } from "./profile-learn.js";
import { labelOf, slotsById, wordsOf } from "./profile-slots.js";
import { count, dateText, go, html, plain, plural, save, share, title, useAction, useLoad, useState } from "../lib/view.js";

const VIEWS = [["beliefs", "Beliefs"], ["agents", "What agents get"], ["changes", "Changes"], ["staged", "Waiting"], ["learn", "Learn"]];
const OTHERS = { preferences: "Preferences", operating_context: "Life and work", soft_identity: "Who they are" };
const HUBS = { preferences: "Preferences", operating_context: "How you live and work", soft_identity: "Who you are" };

export default function Profile({ values, session }) {
  const view = values.view || "beliefs";
  const subject = values.of || "";
  // whom it is of stands above all the rest: nothing is shown before that is known
  const known = useLoad(async () => {
    const [subjects, slots] = await Promise.all([get("/v1/profile/subjects"), slotsById()]);
    return { others: subjects.filter((name) => name !== "me"), slots };
  }, []);
  const show = (changes) => go("profile", [], { view, of: subject, ...changes });
  const views = VIEWS.filter(([name]) => name !== "learn" || session.scopes.includes("dream"));
  return html`<${Page} heading="Profile" lead="What is believed, since when, how surely, and whose words say so. What you change here holds against anything that is read."><${Loaded} state=${known}>${({ others, slots }) => html`
    ${others.length > 0 && html`<div class="row"><${Field} label="Of">${(given) => html`<select ...${given} value=${subject} onChange=${(event) => show({ of: event.target.value })}>
      <option value="">Me</option>${others.map((name) => html`<option value=${name} selected=${name === subject}>${plain(name)}</option>`)}
    </select>`}</${Field}></div>`}
    <${Tabs} label="Views" tabs=${views} chosen=${view} choose=${(name) => show({ view: name })} />
    ${view === "beliefs" && html`<${Beliefs} key=${subject} subject=${subject} session=${session} slots=${slots} />`}
    ${view === "agents" && html`<${Agents} subject=${subject} />`}
    ${view === "changes" && html`<${Changes} subject=${subject} slots=${slots} />`}
    ${view === "staged" && html`<${Staged} slots=${slots} />`}
    ${view === "learn" && views.length === VIEWS.length && html`<${Learn} session=${session} slots=${slots} />`}
  `}</${Loaded}></${Page}>`;
}

// -- beliefs ---------------------------------------------------------------------------------------

function Beliefs({ subject, session, slots }) {
  const [day, setDay] = useState(""); // whose end is meant; none: now
  const state = useLoad(() => get("/v1/profile", { subject, ...(day && { as_of: `${day}T23:59:59Z` }) }), [subject, day]);
  const [said, setSaid] = useState("");
  const [last, setLast] = useState(null); // what was edited last, to be undone
  const [adding, setAdding] = useState(false);
  const [wanted, setWanted] = useState("");
  const changed = (text, edited) => {
    setSaid(text);
    setLast(edited || null);
    state.again();
  };
  const undo = useAction(async () => {
    await post(`/v1/runs/${segment(await runOf(last))}/rollback`);
    changed(`Undone: ${said}`);
  });
  const editor = day ? { ...session, scopes: [] } : session;
  const exported = useAction(async () => save(`profile-${subject || "me"}.json`, await get("/v1/profile/export", { subject })));
  return html`<${Loaded} state=${state}>${({ beliefs, waiting, unheard }) => { const shown = beliefs.filter((belief) => has(belief, valuesOf(slots, belief), wanted)); return html`<div class="stack">
    <div class="row apart">
      <div class="row"><p class="muted small" role="status">${said || `${wanted ? `${count(shown.length)} of ` : ""}${plural(beliefs.length, "belief")}${waiting ? `, ${plural(waiting, "claim")} waiting` : ""}`}</p>
        ${last && session.scopes.includes("dream") && html`<button class="small" disabled=${undo.busy} onClick=${() => undo.run()}>Undo</button>`}</div>
      <div class="row"><button class="small" disabled=${exported.busy} onClick=${() => exported.run()}>Export</button>
        ${editor.scopes.includes("write") && html`<button class="small" onClick=${() => setAdding(true)}>Say something</button>`}</div>
    </div>
    ${[exported, undo].map(({ error }) => error && html`<${Failure} error=${error} />`)}
    <${Unheard} of=${unheard} />
    <div class="row ends">${beliefs.length > 1 && html`<${Field} label="Only beliefs with" grow>${(given) => html`<input ...${given} data-search type="search" value=${wanted}
      placeholder="A name or a value" onInput=${(event) => setWanted(event.target.value)} />`}</${Field}>`}
      <${Field} label="As believed on">${(given) => html`<input ...${given} type="date" value=${day} onInput=${(event) => setDay(event.target.value)} />`}</${Field}></div>
    ${beliefs.length > 0 && shown.length === 0 && html`<${Empty} heading="No belief has that">Write less of it, or another word.</${Empty}>`}
    ${beliefs.length === 0 && html`<${Empty} heading="Nothing is believed yet">Chats and notes are looked at for what they say of people; or say something yourself.</${Empty}>`}
    ${Object.entries(Object.groupBy(shown, (belief) => belief.hub)).map(([hub, ones]) => html`<section class="card" key=${hub}>
      <h2>${of(subject && subject !== "me" ? OTHERS : HUBS, hub) || title(hub)}</h2>
      <div>${ones.map((belief) => html`<${Belief} key=${belief.id} belief=${belief} session=${editor} slots=${slots} changed=${changed} />`)}</div>
    </section>`)}
    ${adding && html`<${Edit} subject=${subject} slots=${slots} close=${() => setAdding(false)} done=${(...edited) => { setAdding(false); changed(...edited); }} />`}
  </div>`; }}</${Loaded}>`;
}

// whether all that was typed stands in what is shown of a belief
function has(belief, value, wanted) {
  const text = `${belief.label} ${value} ${belief.scope}`.toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

// its value, and those of which nobody has said that they do not hold
const valuesOf = (slots, belief) => [belief, ...belief.rivals].map((one) => wordsOf(slots, belief.slot, one.value)).join(" or ");

// the run of the last edit of a belief
async function runOf(belief) {
  const { evidence } = await post("/v1/profile/why", whichOf(belief));
  const madeAt = (one) => one.made_at || one.at;
  return evidence.filter((one) => one.source === "edit").reduce((last, one) => (madeAt(one) >= madeAt(last) ? one : last)).run;
}

const whichOf = ({ slot, value, subject, scope }) => ({ slot, value, subject: subject === "me" ? "" : subject, scope });

function Belief({ belief, session, slots, changed }) {
  const [isOpen, setOpen] = useState(false);
  const [doing, setDoing] = useState("");
  const which = whichOf(belief);
  const act = useAction(async (path, values, said) => {
    const edited = await post(`/v1/profile/${path}`, { ...which, ...values });
    changed(said, path === "confirm" ? edited : null); // marks are undone by their own buttons
  });
  const nameOf = (value) => `${belief.label}: ${wordsOf(slots, belief.slot, value)}`;
  const name = nameOf(belief.value);
  const may = (scope) => session.scopes.includes(scope);
  const ended = (...edited) => {
    setDoing("");
    changed(...edited);
  };
  return html`<article class="belief">
    <div class="belief-head">
      <h3>${plain(belief.label)}</h3>
      <span class="value" dir="auto">${valuesOf(slots, belief)} <${Marks} belief=${belief} /></span>
      <${Sureness} belief=${belief} />
      <button class="quiet" aria-expanded=${String(isOpen)} aria-label=${`${isOpen ? "Close" : "Why"}: ${name}`} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Close" : "Why"}</button>
    </div>
    ${isOpen && html`<div class="stack">
      ${slots.get(belief.slot)?.question && html`<p class="small muted">${plain(slots.get(belief.slot).question)}</p>`}
      <${Stale} stale=${belief.stale} />
      <${Why} which=${which} belief=${belief} slots=${slots} />
      <div class="row">
        ${may("write") && html`
          <button class="small" disabled=${act.busy} onClick=${() => act.run("confirm", {}, `Confirmed: ${name}`)}>Confirm${belief.rivals.length > 0 && ` ${wordsOf(slots, belief.slot, belief.value)}`}</button>
          ${belief.rivals.map(({ value }) => html`<button class="small" disabled=${act.busy} onClick=${() => act.run("confirm", { value }, `Confirmed: ${nameOf(value)}`)}>Confirm ${wordsOf(slots, belief.slot, value)}</button>`)}
          <button class="small" onClick=${() => setDoing("changed")}>This has changed</button>
          <button class="small" onClick=${() => setDoing("wrong")}>This was wrong</button>
          <button class="small" disabled=${act.busy} onClick=${() => act.run("pin", { pinned: !belief.pinned }, belief.pinned ? `No longer pinned: ${name}` : `Pinned: ${name}`)}>${belief.pinned ? "Unpin" : "Pin"}</button>
          <button class="small" disabled=${act.busy} onClick=${() => act.run("hide", { hidden: !belief.hidden }, belief.hidden ? `Shown to agents again: ${name}` : `Hidden from agents: ${name}`)}>${belief.hidden ? "Show to agents" : "Hide from agents"}</button>`}
        ${may("forget") && html`<button class="small danger" onClick=${() => setDoing("forget")}>Forget</button>`}
      </div>
      ${act.error && html`<${Failure} error=${act.error} />`}
    </div>`}
    ${(doing === "changed" || doing === "wrong") && html`<${Edit} belief=${belief} reason=${doing} subject=${which.subject} slots=${slots} close=${() => setDoing("")} done=${ended} />`}
    ${doing === "forget" && html`<${Forget} what=${name} path="/v1/profile/forget" values=${which}
      close=${() => setDoing("")} done=${() => ended(`Forgotten: ${name}`)} />`}
  </article>`;
}

const Marks = ({ belief }) => html`<span class="row small">
  ${belief.state !== "current" && html`<${Badge} kind="careful">${title(belief.state)}</${Badge}>`}
  ${belief.stale && html`<${Badge} kind="careful">${belief.until ? "May hold still" : "May not hold any more"}</${Badge}>`}
  ${belief.was_wrong && html`<${Badge} kind="careful">Was wrong</${Badge}>`}
  ${belief.retracted_at && html`<${Badge} kind="careful">Retracted ${dateText(belief.retracted_at)}</${Badge}>`}
  ${belief.pinned && html`<${Badge} kind="good">Pinned</${Badge}>`}
  ${belief.hidden && html`<${Badge} kind="bad">Hidden</${Badge}>`}
  ${belief.hard && html`<${Badge}>Hard</${Badge}>`}
  ${belief.scope && html`<${Badge}>${plain(belief.scope)}</${Badge}>`}
</span>`;

const Sureness = ({ belief }) => html`<div class="stack tight small">
  <span><span class="number">${share(belief.confidence)}</span> <span class="muted">${belief.authority === "edit" ? "said here" : `by ${plural(belief.pieces, "statement")}`}</span></span>
  <span class="muted">since <${When} at=${belief.since} /></span>
</div>`;

function Why({ which, belief, slots }) {
  const state = useLoad(() => post("/v1/profile/why", which), [belief]); // each edit makes it anew
  return html`<${Loaded} state=${state}>${({ evidence }) => html`<div class="stack">
    ${evidence.map((one) => html`<${Evidence} key=${one.id} one=${one} />`)}
    ${belief.history.length > 0 && html`<div class="stack tight small">
      <h4 class="muted">Before</h4>
      <ul class="stack tight">${belief.history.map((held) => html`<li>${wordsOf(slots, belief.slot, held.value)}${" "}
        <span class="muted">${dateText(held.since)} to ${dateText(held.until)}${held.was_wrong ? ", was wrong" : ""}${held.ended_by ? `, ended: ${plain(held.ended_by)}` : ""}</span></li>`)}</ul>
    </div>`}
  </div>`}</${Loaded}>`;
}

const REASONS = { changed: "has changed", wrong: "was wrong" }; // why the value before holds no longer
const SIDES = { against: "against", retire: "ends it" };

function Evidence({ one }) {
  const about = [title(one.authority || "statement"), dateText(one.at), plain(one.citation)].filter(Boolean).join(" · ");
  return html`<div class="stack tight">
    ${one.quote
      ? html`<${Quote} text=${`“${one.quote}”`} />`
      : html`<p class="muted">${one.note ? plain(one.note) : "Said here, by hand."}</p>`}
    <span class="small muted">${about} ${of(SIDES, one.polarity) && html`<${Badge} kind="careful">${of(SIDES, one.polarity)}</${Badge}>`}</span>
  </div>`;
}

// -- the other views -------------------------------------------------------------------------------

function Agents({ subject }) {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  const state = useLoad(() => post("/v1/profile/context", { query: asked || null, subject }), [asked, subject]);
  return html`<div class="stack">
    <form class="row ends" onSubmit=${(event) => { event.preventDefault(); setAsked(query); }}>
      <${Field} label="What an agent is asked" grow>${(given) => html`<input ...${given} data-search value=${query} placeholder="What should I order for lunch?"
        onInput=${(event) => setQuery(event.target.value)} />`}</${Field}>
      <button class="primary">Show what it gets</button>
    </form>
    <${Loaded} state=${state}>${(context) => html`<div class="stack tight">
      ${context.text ? html`<pre class="box" tabindex="0">${plain(context.text)}</pre>` : html`<${Empty} heading="Nothing">For this an agent is told nothing of you.</${Empty}>`}
      <p class="small muted">${count(context.tokens)} tokens${context.left_out ? `, ${count(context.left_out)} left out for the budget` : ""}${context.withheld ? `, ${count(context.withheld)} withheld` : ""}</p>
    </div>`}</${Loaded}>
  </div>`;
}

function Changes({ subject, slots }) {
  const state = useLoad(() => get("/v1/profile/changes", { subject }), [subject]);
  const columns = [
    { name: "When", of: (change) => html`<${When} at=${change.at} />` },
    { name: "What", of: (change) => plain(change.label) },
    { name: "Before", of: (change) => (change.before === null ? html`<span class="muted">not known</span>` : wordsOf(slots, change.slot, change.before)) },
    { name: "After", of: (change) => (change.after === null ? html`<span class="muted">no longer</span>` : wordsOf(slots, change.slot, change.after)) },
    { name: "Why", of: (change) => [of(REASONS, change.reason), plain(change.note || ""), change.stale && "may not hold any more"].filter(Boolean).join(": ") },
    { name: "Said in", of: (change) => plain(change.citation) },
  ];
  return html`<${Loaded} state=${state}>${(changes) => html`<${Table} caption="Changes, the newest first" columns=${columns} rows=${changes} none="Nothing has changed." />`}</${Loaded}>`;
}

function Staged({ slots }) {
  const state = useLoad(() => get("/v1/profile/staged"), []);
  const columns = [
    { name: "Said", of: (claim) => html`<${Quote} text=${claim.quote || ""} citation=${claim.citation} />` },
    { name: "As", of: (claim) => labelOf(slots, claim) },
    { name: "Value", of: (claim) => wordsOf(slots, claim.slot, claim.value) },
    { name: "When", of: (claim) => html`<${When} at=${claim.at} />` },
  ];
  return html`<${Loaded} state=${state}>${(claims) => claims.length
    ? html`<${Table} caption="Claims that wait for their place" columns=${columns} rows=${claims} />`
    : html`<${Empty} heading="Nothing waits">A claim waits here until it is known which part of the profile it belongs to.</${Empty}>`}</${Loaded}>`;
}
