// The dialog that says that a belief has changed, or was wrong; or says something new.

import { post } from "../lib/api.js";
import { Dialog, Failure, Field } from "../lib/parts.js";
import { dateText, html, plain, title, useAction, useState } from "../lib/view.js";
import { wordsOf } from "./profile-slots.js";

export const HEADINGS = { changed: "Has changed", wrong: "Was wrong" };

// `reason`: "changed" or "wrong", of a belief
export function Edit({ belief, reason, subject, slots, close, done }) {
  const [slot, setSlot] = useState(belief?.slot || "");
  const [value, setValue] = useState("");
  const [day, setDay] = useState("");
  const [note, setNote] = useState("");
  const [wanted, setWanted] = useState("");
  const spec = slots.get(slot);
  const label = belief?.label || spec?.label || slot;
  const save = useAction(async () => {
    const which = { slot, subject, note, scope: belief?.scope || "" };
    const values = { ...which, value: typed(value, spec?.kind) };
    const since = day ? startOf(day, belief) : null;
    if (!belief) done(`Noted: ${label}: ${value}`, await post("/v1/profile/set", { ...values, since }));
    else if (value) done(`${reason === "changed" ? "Changed" : "Corrected"}: ${label}: ${value}`, await post("/v1/profile/correct", { ...values, was: belief.value, reason, since }));
    else if (reason === "changed") done(`No longer so: ${label}: ${wordsOf(slots, slot, belief.value)}`, await post("/v1/profile/retire", { ...which, value: belief.value, at: since }));
    else done(`Never was so: ${label}: ${wordsOf(slots, slot, belief.value)}`, await post("/v1/profile/reject", { ...which, value: belief.value }));
  });
  const submit = (event) => {
    event.preventDefault();
    save.run();
  };
  return html`<${Dialog} heading=${belief ? `${HEADINGS[reason]}: ${plain(belief.label)}` : "Say something"} close=${close}>
    <form class="stack" onSubmit=${submit}>
      ${belief && html`<p><strong>${wordsOf(slots, slot, belief.value)}</strong> ${reason === "changed"
        ? `was so since ${dateText(belief.since)}, and stays in the history.` : "never was so. What said it is trusted less."}</p>`}
      ${!belief && html`<${Field} label="Search">${(given) => html`<input ...${given} type="search" value=${wanted} placeholder="food, language, meetings"
        onInput=${(event) => setWanted(event.target.value)} />`}</${Field}>`}
      ${!belief && html`<${Field} label="What it is about">${(given) => html`<select ...${given} required value=${slot} onChange=${(event) => setSlot(event.target.value)}>
        <option value="">Choose</option>
        ${Object.entries(Object.groupBy([...slots.values()].filter((one) => one.id === slot || isAbout(one, wanted)), groupOf)).map(([group, ones]) => html`<optgroup label=${title(group)}>
          ${ones.map((one) => html`<option value=${one.id} selected=${one.id === slot}>${plain(one.label)}</option>`)}</optgroup>`)}
      </select>`}</${Field}>`}
      <${Field} label=${belief ? "What is so instead" : "Value"} hint=${belief ? "Nothing, if nothing is." : spec?.question ? plain(spec.question) : undefined}>${(given) => html`<${Value} given=${{ ...given, required: !belief }} spec=${spec} value=${value} change=${setValue} />`}</${Field}>
      ${reason !== "wrong" && html`<${Since} from=${belief?.since.slice(0, 10)} day=${day} change=${setDay} />`}
      <${Field} label="Note, for yourself">${(given) => html`<input ...${given} value=${note} onInput=${(event) => setNote(event.target.value)} />`}</${Field}>
      ${save.error && html`<${Failure} error=${save.error} />`}
      <div class="row"><button class="primary" disabled=${save.busy}>Save</button><button type="button" onClick=${close}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}

export const Since = ({ from, day, change }) => html`<${Field} label="Since when" hint="Now, if you leave it out.">${(given) => html`<input ...${given} type="date" min=${from} max=${today()} value=${day} onInput=${(event) => change(event.target.value)} />`}</${Field}>`;

// the part of a path that says where a slot belongs: two of one label stand in different groups
const groupOf = (slot) => slot.id.split(".")[0];

function isAbout(slot, wanted) {
  const text = [slot.id.replaceAll(/[._]/g, " "), slot.label, slot.question, ...(slot.aliases || [])].join(" ").toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function Value({ given, spec, value, change }) {
  const changed = (event) => change(event.target.value);
  if (spec?.kind === "flag") {
    return html`<select ...${given} value=${value} onChange=${changed}>
      <option value="">Choose</option><option value="true">yes</option><option value="false">no</option></select>`;
  }
  if (spec?.values?.length && !spec.open) {
    return html`<select ...${given} value=${value} onChange=${changed}>
      <option value="">Choose</option>${spec.values.map((one) => html`<option value=${String(one)} selected=${String(one) === value}>${plain(String(one).replaceAll("_", " "))}</option>`)}</select>`;
  }
  const list = spec?.values?.length ? `${given.id}-values` : undefined;
  return html`<input ...${given} list=${list} value=${value} onInput=${changed} />
    ${list && html`<datalist id=${list}>${spec.values.map((one) => html`<option value=${String(one)}></option>`)}</datalist>`}`;
}

const today = () => new Date().toISOString().slice(0, 10);

// when a day began: today is now, and the day on which a belief began is when it did
export function startOf(day, belief) {
  if (day === today()) return null;
  const start = `${day}T00:00:00Z`;
  return belief && new Date(start) < new Date(belief.since) && belief.since.startsWith(day) ? belief.since : start;
}

function typed(value, kind) {
  if (kind === "flag") return value === "true";
  return kind === "number" ? Number(value) : value;
}
