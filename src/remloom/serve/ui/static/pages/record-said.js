// What a text replaced or amends and what did so of it, and the dialog that says that it has changed, or was wrong.

import { get, post, segment } from "../lib/api.js";
import { Badge, Dialog, Failure, Field, RecordLink, When } from "../lib/parts.js";
import { excerptOf, go, html, plain, useAction, useLoad, useState } from "../lib/view.js";
import { HEADINGS, Since, startOf } from "./profile-edit.js";

// what metadata says of a text that replaced or amends one, or the other way round
export const MARKS = ["superseded", "amended", "replaces", "amends"];
const SHOWN = 160; // characters of a text in the list
// the button that says so, and what becomes of the text
const WAYS = {
  changed: ["This has changed", "It was so, and stays in the history. No search finds it any more."],
  wrong: ["This was wrong", "It never was so, and stays in the history as wrong. No search finds it any more."],
  more: ["There is more to say", "Both are found, what you add first."],
};

export const isReplaced = (record) => Boolean(record.metadata?.superseded?.reason);

// What a text says or, where another one has replaced it, said.
export const saidBy = (record) => record.content || record.metadata?.superseded?.content || record.summary;

// Buttons for what somebody knows of a text; the new text is shown then.
export function Said({ record, session }) {
  const [way, setWay] = useState("");
  // what a run hid is a run's to bring back
  if (record.schema !== "resources" || record.metadata?.superseded || !session.scopes.includes("write")) return null;
  return html`<div class="row">
    ${Object.entries(WAYS).map(([name, [label]]) => html`<button class="small" onClick=${() => setWay(name)}>${label}</button>`)}
    ${way && html`<${Say} record=${record} way=${way} close=${() => setWay("")} />`}
  </div>`;
}

function Say({ record, way, close }) {
  const before = way === "more" ? "" : saidBy(record);
  const [text, setText] = useState(before);
  const [day, setDay] = useState("");
  const save = useAction(async () => {
    const how = way === "more" ? { amends: record.id } : { replaces: record.id, reason: way, ...(day && startOf(day) && { since: startOf(day) }) };
    const { ids } = await post("/v1/tools/remember", { text, ...how });
    go("record", [ids[0]]);
  });
  const submit = (event) => {
    event.preventDefault();
    save.run();
  };
  return html`<${Dialog} heading=${HEADINGS[way] || WAYS[way][0]} close=${close}>
    <form class="stack" onSubmit=${submit}>
      <blockquote class="memory clipped" dir="auto">${plain(saidBy(record))}</blockquote>
      <p class="small muted">${WAYS[way][1]}</p>
      <${Field} label=${way === "more" ? "What there is to add" : "What is so instead"}>${(given) => html`<textarea ...${given} required rows="4" value=${text} onInput=${(event) => setText(event.target.value)}></textarea>`}</${Field}>
      ${way === "changed" && html`<${Since} day=${day} change=${setDay} />`}
      ${save.error && html`<${Failure} error=${save.error} />`}
      <div class="row"><button class="primary" disabled=${save.busy || !text.trim() || text === before}>Save</button><button type="button" onClick=${close}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}

// The texts that replaced or amend one another, oldest first; `again` is called when that was undone.
export function Chain({ record, session, again }) {
  const state = useLoad(() => get(`/v1/records/${segment(record.id)}/history`), [record.id, record.revision]);
  const undo = useAction((id) => post(`/v1/records/${segment(id)}/unreplace`));
  const chain = state.value?.chain || [];
  const undone = async (id) => {
    const { error } = await undo.run(id);
    if (!error) again();
  };
  if (state.error) return html`<${Failure} error=${state.error} again=${state.again} />`;
  if (!chain.length) return null;
  return html`<section class="stack tight" aria-label="What was said">
    <h2>What was said</h2>
    <ol class="stack tight">${chain.map((link) => html`<li key=${link.id} class="row" aria-current=${link.id === record.id ? "true" : undefined}>
      <span>${link.id === record.id ? html`<strong>${excerpt(link)}</strong>` : html`<${RecordLink} to=${link.id}>${excerpt(link)}</${RecordLink}>`}</span>
      <${Fate} link=${link} since=${chain.find((one) => one.by === link.id && one.reason === "changed")?.since} />
      ${(link.by || link.amended_by?.length > 0) && session.scopes.includes("write") && html`<button class="small" disabled=${undo.busy}
        aria-label=${`Undo: ${link.by ? "bring back" : "not amended"}: ${plain(excerpt(link))}`} onClick=${() => undone(link.id)}>Undo</button>`}
    </li>`)}</ol>
    ${undo.error && html`<${Failure} error=${undo.error} />`}
  </section>`;
}

const excerpt = ({ name, content }) => {
  const text = excerptOf(content || name);
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text;
};

// Whether a text holds, since when and until when.
function Fate({ link, since }) {
  const began = since && html`<span class="small muted">since <${When} at=${since} /></span>`;
  if (link.reason === "wrong") return html`${began} <${Badge} kind="bad">Was wrong</${Badge}> <span class="small muted">said <${When} at=${link.at} /></span>`;
  if (link.by) return html`${began} <${Badge} kind="careful">Has changed</${Badge}> <span class="small muted">until <${When} at=${link.since} /></span>`;
  return html`${began} ${link.amends ? html`<${Badge}>Adds to it</${Badge}>` : html`<${Badge} kind="good">Holds</${Badge}>`}`;
}
