// The dialog that corrects a belief, or says something new.

import { post } from "../lib/api.js";
import { Dialog, Failure, Field } from "../lib/parts.js";
import { html, plain, title, useAction, useState } from "../lib/view.js";
import { wordsOf } from "./profile-slots.js";

export function Edit({ belief, subject, slots, close, done }) {
  const [slot, setSlot] = useState(belief?.slot || "");
  const [value, setValue] = useState(belief ? String(belief.value) : "");
  const [note, setNote] = useState("");
  const [changed, setChanged] = useState("");
  const [wanted, setWanted] = useState("");
  const spec = slots.get(slot);
  const save = useAction(async () => {
    const values = { slot, value: typed(value, spec?.kind), subject, note };
    if (belief) await post("/v1/profile/correct", { ...values, was: belief.value, scope: belief.scope, changed: changed === "yes" });
    else await post("/v1/profile/set", values);
    done(`${belief ? (changed === "yes" ? "Changed" : "Corrected") : "Noted"}: ${spec?.label || slot}: ${value}`);
  });
  const submit = (event) => {
    event.preventDefault();
    save.run();
  };
  return html`<${Dialog} heading=${belief ? `Correct: ${plain(belief.label)}` : "Say something"} close=${close}>
    <form class="stack" onSubmit=${submit}>
      ${belief && html`<fieldset class="stack tight"><legend class="label">${wordsOf(slots, slot, belief.value)}</legend>
        ${[["", "was wrong"], ["yes", "was right, and has changed"]].map(([name, text]) => html`<label class="check">
          <input type="radio" name="changed" checked=${changed === name} onChange=${() => setChanged(name)} />${text}</label>`)}</fieldset>`}
      ${!belief && html`<${Field} label="Search">${(given) => html`<input ...${given} type="search" value=${wanted} placeholder="food, language, meetings"
        onInput=${(event) => setWanted(event.target.value)} />`}</${Field}>`}
      ${!belief && html`<${Field} label="What it is about">${(given) => html`<select ...${given} required value=${slot} onChange=${(event) => setSlot(event.target.value)}>
        <option value="">Choose</option>
        ${Object.entries(Object.groupBy([...slots.values()].filter((one) => one.id === slot || isAbout(one, wanted)), groupOf)).map(([group, ones]) => html`<optgroup label=${title(group)}>
          ${ones.map((one) => html`<option value=${one.id} selected=${one.id === slot}>${plain(one.label)}</option>`)}</optgroup>`)}
      </select>`}</${Field}>`}
      <${Field} label="Value" hint=${spec?.question ? plain(spec.question) : undefined}>${(given) => html`<${Value} given=${given} spec=${spec} value=${value} change=${setValue} />`}</${Field}>
      <${Field} label="Note, for yourself">${(given) => html`<input ...${given} value=${note} onInput=${(event) => setNote(event.target.value)} />`}</${Field}>
      ${save.error && html`<${Failure} error=${save.error} />`}
      <div class="row"><button class="primary" disabled=${save.busy}>Save</button><button type="button" onClick=${close}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}

// the part of a path that says where a slot belongs: two of one label stand in different groups
const groupOf = (slot) => slot.id.split(".")[0];

function isAbout(slot, wanted) {
  const text = [slot.id.replaceAll(/[._]/g, " "), slot.label, slot.question, ...(slot.aliases || [])].join(" ").toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function Value({ given, spec, value, change }) {
  const changed = (event) => change(event.target.value);
  if (spec?.kind === "flag") {
    return html`<select ...${given} required value=${value} onChange=${changed}>
      <option value="">Choose</option><option value="true">yes</option><option value="false">no</option></select>`;
  }
  if (spec?.values?.length && !spec.open) {
    return html`<select ...${given} required value=${value} onChange=${changed}>
      <option value="">Choose</option>${spec.values.map((one) => html`<option value=${String(one)} selected=${String(one) === value}>${plain(String(one).replaceAll("_", " "))}</option>`)}</select>`;
  }
  const list = spec?.values?.length ? `${given.id}-values` : undefined;
  return html`<input ...${given} required list=${list} value=${value} onInput=${changed} />
    ${list && html`<datalist id=${list}>${spec.values.map((one) => html`<option value=${String(one)}></option>`)}</datalist>`}`;
}

function typed(value, kind) {
  if (kind === "flag") return value === "true";
  return kind === "number" ? Number(value) : value;
}
