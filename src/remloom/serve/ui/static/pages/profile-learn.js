// What a scan would learn of people, shown before it is written, and taken back if it was wrong.

import { post, stream } from "../lib/api.js";
import { Busy, Failure, Field, Quote, Table, When } from "../lib/parts.js";
import { count, hrefOf, html, plain, plural, useAction, useState } from "../lib/view.js";
import { TakeBack } from "./dreams.js";
import { labelOf, wordsOf } from "./profile-slots.js";

// by name: its path, and what it looks at
const SCANS = {
  observe: ["/v1/profile/observe", "What was not looked at yet"],
  bootstrap: ["/v1/profile/bootstrap", "Everything anew, also what was looked at"],
};

export function Learn({ session, slots }) {
  const [scan, setScan] = useState("observe");
  const [text, setText] = useState("");
  const [told, setTold] = useState("");
  const [note, setNote] = useState(""); // the address of the text that was read in
  const [taking, setTaking] = useState(false);
  const [taken, setTaken] = useState(false);
  const act = useAction(async (dry_run) => {
    setTold("");
    setTaken(false);
    if (dry_run && text.trim()) {
      const uri = `note:${new Date().toISOString()}`;
      await post("/v1/texts", { text, uri, name: `Note, ${uri.slice(5, 15)}`, at: uri.slice(5) });
      setNote(uri);
      setText("");
    }
    const [path] = SCANS[scan];
    return { dry_run, ...(await stream(path, { dry_run }, (done, total) => setTold(`${count(done)} of ${plural(total, "passage")}`))) };
  });
  const result = act.value;
  return html`<div class="stack">
    <form class="card" onSubmit=${(event) => { event.preventDefault(); act.run(true); }}>
      ${session.scopes.includes("write") && html`<${Field} label="A text of yours, to be read in first" hint="It stays as a document, also if nothing is learned of it.">${(given) => html`
        <textarea ...${given} data-search rows="4" value=${text} placeholder="I moved to Porto in May. I do not eat meat any more." onInput=${(event) => setText(event.target.value)}></textarea>`}</${Field}>`}
      <div class="row ends">
        <${Field} label="What to look at" grow>${(given) => html`<select ...${given} value=${scan} onChange=${(event) => { setScan(event.target.value); act.clear(); }}>
          ${Object.entries(SCANS).map(([name, [, what]]) => html`<option value=${name} selected=${name === scan}>${what}</option>`)}
        </select>`}</${Field}>
        <button class="primary" disabled=${act.busy}>Show what it would learn</button>
      </div>
      <p class="muted small">Nothing is learned until you say so. A language model, if this server has one, is asked each time.</p>
    </form>
    ${note && html`<p class="small muted">Read in: <a href=${hrefOf("documents", [note])}>your text</a>.</p>`}
    ${act.busy && html`<${Busy}>${told || "Looking"}</${Busy}>`}
    ${act.error && html`<${Failure} error=${act.error} />`}
    ${result && html`<${Outcome} result=${result} slots=${slots} taken=${taken} busy=${act.busy}
      learn=${() => act.run(false)} takeBack=${session.scopes.includes("dream") && (() => setTaking(true))} />`}
    ${taking && html`<${TakeBack} run=${result.run} close=${() => setTaking(false)} done=${() => { setTaking(false); setTaken(true); }} />`}
  </div>`;
}

export const Unheard = ({ of: unheard }) => Object.entries(unheard).map(([language, number]) =>
  html`<p class="notice careful">${plural(number, "passage is", "passages are")} in ${plain(language)}, which is not heard yet.</p>`);

function Outcome({ result, slots, taken, busy, learn, takeBack }) {
  const { dry_run, evidence, run, failed, unheard } = result;
  const number = dry_run ? evidence.length : (run.counts.evidence || 0) + (run.counts.staged || 0);
  const columns = [
    { name: "Said", of: (one) => html`<${Quote} text=${one.quote} citation=${one.citation} />` },
    { name: "As", of: (one) => labelOf(slots, one) },
    { name: "Value", of: (one) => `${one.polarity === "for" || !one.polarity ? "" : "not "}${wordsOf(slots, one.slot, one.value)}` },
    { name: "Of", of: (one) => (!one.subject || one.subject === "me" ? "me" : plain(one.subject)) },
    { name: "When", of: (one) => html`<${When} at=${one.at} />` },
  ];
  const words = plural(number, "statement");
  return html`<section class="stack">
    <div class=${number && !taken ? "notice good" : "notice"} role="status">
      <strong>${taken ? "Taken back: the profile is as it was." : !number ? "Nothing new is said of anybody." : dry_run ? `${words} would be learned.` : `Learned ${words}.`}</strong>
      ${run.reason && html`<p>${plain(run.reason)}</p>`}
      ${number > 0 && !taken && html`<div class="row">${dry_run
        ? html`<button class="primary" disabled=${busy} onClick=${learn}>Learn it</button>`
        : html`<a href=${hrefOf("dreams", [run.id])}>Look at the run</a> ${takeBack && html`<button class="small" onClick=${takeBack}>Take it back</button>`}`}</div>`}
    </div>
    ${failed.length > 0 && html`<div class="notice careful"><strong>${plural(failed.length, "passage")} could not be looked at, and will be tried again.</strong>
      <p>${plain(failed[0].reason)}</p></div>`}
    <${Unheard} of=${unheard} />
    ${dry_run && number > 0 && html`<${Table} caption="What would be learned" columns=${columns} rows=${evidence.slice(0, 200)} />
      ${number > 200 && html`<p class="small muted">and ${count(number - 200)} more</p>`}`}
  </section>`;
}
