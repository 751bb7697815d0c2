// The parts that several pages are made of. Text of memories always goes through `plain`, as text.

import { get, post } from "./api.js";
import { count, dateText, hrefOf, html, nameOf, plain, plural, share, sourceOf, title, useAction, useEffect, useRef, useState } from "./view.js";

export function Page({ heading, lead, wide, children }) {
  return html`<div class=${wide ? "page wide" : "page"}>
    <div class="page-head">
      <h1 tabindex="-1">${heading}</h1>
      ${lead && html`<p>${lead}</p>`}
    </div>
    ${children}
  </div>`;
}

// -- states ----------------------------------------------------------------------------------------

export const Busy = ({ children = "Loading" }) => html`<p class="busy" role="status">${children}</p>`;

export const Empty = ({ heading, children }) =>
  html`<div class="empty"><strong>${heading}</strong><span>${children}</span></div>`;

// What went wrong, and what would be right. A caret under a statement needs its own lines.
export function Failure({ error, again }) {
  const whole = plain(error.message);
  const [first, ...rest] = whole.split("\n");
  const shown = rest.filter((line) => !/^\s*remedy:/.test(line));
  return html`<div class="notice bad" role="alert">
    <strong>${first}</strong>
    ${shown.length > 0 && html`<pre>${shown.join("\n")}</pre>`}
    ${error.remedy && !shown.join().includes(error.remedy) && html`<p>${plain(error.remedy)}</p>`}
    ${again && html`<button class="small" onClick=${again}>Try again</button>`}
  </div>`;
}

// What `useLoad` has: its value by `children`, or why there is none.
export function Loaded({ state, children, busy }) {
  if (state.error) return html`<${Failure} error=${state.error} again=${state.again} />`;
  if (state.value === undefined) return html`<${Busy}>${busy}</${Busy}>`;
  return children(state.value);
}

// -- values ----------------------------------------------------------------------------------------

export const When = ({ at, time }) =>
  at ? html`<time datetime=${at} title=${new Date(at).toISOString()}>${dateText(at, { time })}</time>` : null;

// What a table of words has for one: an object's own, never what every object inherits.
export const of = (table, name, otherwise = "") => (Object.hasOwn(table, name) ? table[name] : otherwise);

export const Badge = ({ kind = "", children }) => html`<span class=${`badge ${kind}`}>${children}</span>`;

export const Bar = ({ part }) =>
  html`<span class="bar" aria-hidden="true">
    <span style=${{ width: `${Math.max(0, Math.min(1, part || 0)) * 100}%` }}></span>
  </span>`;

export const RecordLink = ({ to, children }) =>
  html`<a href=${hrefOf("record", [to])}>${plain(children ?? to)}</a>`;

// Why something may not hold any more, with a link to what changed, if that is still there.
export const Stale = ({ stale }) => stale
  ? html`<p class="row small"><${Badge} kind="careful">May not hold any more</${Badge}> <span>${plain(stale.message)}</span>
    ${stale.path.length > 0 && !stale.uri && html`<${RecordLink} to=${stale.path.at(-1)}>What changed</${RecordLink}>`}</p>`
  : null;

// Long text, clipped until asked for.
export function Memory({ text, clip = true }) {
  const [open, setOpen] = useState(false);
  const shown = plain(text);
  const isLong = clip && (shown.length > 560 || shown.split("\n").length > 8);
  return html`<div class="stack tight">
    <div class=${isLong && !open ? "memory clipped" : "memory"} dir="auto">${shown}</div>
    ${isLong && html`<div><button class="quiet" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>
      ${open ? "Show less" : "Show all of it"}
    </button></div>`}
  </div>`;
}

export const Quote = ({ text, citation }) => html`<div class="stack tight">
  <blockquote class="memory" dir="auto">${plain(text)}</blockquote>
  ${citation && html`<span class="small muted">${plain(citation)}</span>`}
</div>`;

// A line about a record: kind, trust, when and from where.
export const About = ({ record }) => html`<div class="row small muted">
  <${Badge}>${title(record.category || record.type || record.kind || record.schema)}</${Badge}>
  ${record.trust === "derived" && html`<${Badge} kind="careful">derived</${Badge}>`}
  ${record.trust === "told" && html`<${Badge} kind="good">told</${Badge}>`}
  <${When} at=${record.starts_at || record.created_at} />
  <span>${plain(sourceOf(record))}</span>
</div>`;

export const Facts = ({ of }) => html`<dl class="facts">
  ${Object.entries(of)
    .filter(([, value]) => value !== "" && value != null && value?.length !== 0)
    .map(([name, value]) => html`<dt>${title(name)}</dt><dd>${shown(value)}</dd>`)}
</dl>`;

function shown(value) {
  if (typeof value === "number") return count(value);
  return plain(typeof value === "string" ? value : JSON.stringify(value));
}

// A table that can be scrolled with the keyboard. A column: {name, of(row), number?}.
export function Table({ caption, columns, rows, none = "Nothing here." }) {
  if (!rows.length) return html`<p class="muted">${none}</p>`;
  return html`<div class="table" role="region" aria-label=${caption} tabindex="0"><table>
    <caption class="visually-hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.number ? "number" : ""}>
      ${column.name || html`<span class="visually-hidden">Actions</span>`}
    </th>`)}</tr></thead>
    <tbody>${rows.map((row, index) => html`<tr key=${row.id || index}>${columns.map((column) => html`<td class=${classOf(column)}>
      ${column.of(row, index)}
    </td>`)}</tr>`)}</tbody>
  </table></div>`;
}

const classOf = (column) => (column.number ? "number" : column.name ? "" : "actions");

// -- controls --------------------------------------------------------------------------------------

let fields = 0;

export function Field({ label, hint, children, grow }) {
  const [id] = useState(() => `field-${++fields}`);
  return html`<div class=${grow ? "field grow" : "field"}>
    <label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": hint ? `${id}-hint` : undefined })}
    ${hint && html`<span class="small muted" id=${`${id}-hint`}>${hint}</span>`}
  </div>`;
}

// Tabs that arrow keys walk through; `tabs` is a list of [name, label].
export function Tabs({ label, tabs, chosen, choose }) {
  const list = useRef(null);
  // a narrow screen has no room for all of them
  useEffect(() => {
    const { offsetLeft, offsetWidth } = list.current.querySelector("[aria-selected=true]") || {};
    if (offsetWidth) list.current.scrollTo({ left: offsetLeft + offsetWidth / 2 - list.current.clientWidth / 2 });
  }, [chosen]);
  const walk = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(([name]) => name === chosen);
    const next = (at + step + tabs.length) % tabs.length;
    choose(tabs[next][0]);
    list.current.children[next].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${walk}>
    ${tabs.map(([name, text]) => html`<button role="tab" type="button" aria-selected=${String(name === chosen)}
      tabindex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${text}</button>`)}
  </div>`;
}

export function Dialog({ heading, close, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby="dialog-heading" onClose=${close}>
    <div class="stack"><h2 id="dialog-heading">${heading}</h2>${children}</div>
  </dialog>`;
}

// A field that lists the names which begin with what was typed.
export function NameField({ label, value, change, choose = change, placeholder }) {
  const [names, setNames] = useState([]);
  const [at, setAt] = useState(-1);
  const turn = useRef(0);
  const field = useRef(null);
  const closed = () => {
    turn.current++;
    setNames([]);
  };
  // what is sent has been chosen: no list comes after it
  useEffect(() => {
    const { form } = field.current;
    form?.addEventListener("submit", closed);
    return () => form?.removeEventListener("submit", closed);
  }, []);
  const typed = async (event) => {
    const text = event.target.value;
    change(text);
    setAt(-1);
    const mine = ++turn.current;
    const found = text.trim() ? await get("/v1/complete", { prefix: text, limit: 8 }).catch(() => []) : [];
    if (mine === turn.current) setNames(found);
  };
  const take = (name) => {
    closed();
    choose(name);
  };
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && names.length) {
      event.preventDefault();
      setAt((at + step + names.length) % names.length);
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      take(names[at]);
    } else if (event.key === "Escape") setNames([]);
  };
  return html`<${Field} label=${label} grow>${(given) => html`<div class="completing">
    <input ...${given} ref=${field} data-search role="combobox" aria-expanded=${String(names.length > 0)} aria-controls=${`${given.id}-names`}
      aria-autocomplete="list" aria-activedescendant=${at >= 0 ? `${given.id}-${at}` : undefined} autocomplete="off" spellcheck=${false}
      placeholder=${placeholder} value=${value} onInput=${typed} onKeyDown=${keys} onBlur=${() => setTimeout(() => setNames([]), 150)} />
    <ul class="choices" role="listbox" id=${`${given.id}-names`} aria-label="Names" hidden=${!names.length}>
      ${names.map((name, index) => html`<li role="option" id=${`${given.id}-${index}`} aria-selected=${String(index === at)}
        onMouseDown=${(event) => { event.preventDefault(); take(name); }}>${plain(name)}</li>`)}
    </ul>
  </div>`}</${Field}>`;
}

// -- forgetting ------------------------------------------------------------------------------------

export const Receipt = ({ of: receipt }) => html`<${Facts} of=${{
  records: receipt.records,
  "of them derived": receipt.derived,
  edges: receipt.edges,
  vectors: receipt.vectors,
  labels: receipt.keys,
  "swept and checked": receipt.at ? (receipt.verified ? "yes, nothing remains" : "no, see below") : "",
  "still there": (receipt.remaining || []).join("; "),
  "made again later": (receipt.pending || []).join("; "),
}} />`;

// What stays and says a name of what is forgotten, to be looked at and forgotten too.
const Namings = ({ ids }) => (ids.length > 0 && html`<div class="notice">
  <p>${plural(ids.length, "record")} that ${ids.length === 1 ? "stays says" : "stay say"} its name, and will be found and recalled as before.
    To forget ${ids.length === 1 ? "it too, open it:" : "them too, open each and forget it:"}</p>
  <ul>${ids.slice(0, 10).map((id) => html`<li key=${id}><${RecordLink} to=${id} /></li>`)}</ul>
  ${ids.length > 10 && html`<p>and ${count(ids.length - 10)} more</p>`}
</div>`);

// Ask before forgetting: show what would go, then the receipt. `path` takes `values` and `dry_run`.
export function Forget({ what, path, values, close, done }) {
  const preview = useAction(() => post(path, { ...values, dry_run: true }));
  const forget = useAction(() => post(path, { ...values, dry_run: false }));
  useEffect(() => void preview.run(), []);
  const receipt = forget.value || preview.value;
  const ended = () => (forget.value ? done(forget.value) : close());
  return html`<${Dialog} heading=${forget.value ? "Forgotten" : `Forget ${plain(what)}?`} close=${ended}>
    ${!receipt && !preview.error && html`<${Busy}>Looking for all that would go</${Busy}>`}
    ${preview.error && html`<${Failure} error=${preview.error} />`}
    ${receipt && html`<p>${forget.value
      ? "This is the receipt. What quoted it beside other things was made again without it."
      : `This would erase ${plural(receipt.records, "record")}, with all that was derived from them. It cannot be taken back.`}</p>
      <${Receipt} of=${receipt} /><${Namings} ids=${receipt.named_in || []} />`}
    ${forget.error && html`<${Failure} error=${forget.error} />`}
    <div class="row">
      ${!forget.value && html`<button class="danger" disabled=${forget.busy || !preview.value} onClick=${() => forget.run()}>
        ${forget.busy ? "Forgetting" : "Forget for good"}
      </button>`}
      <button onClick=${ended}>${forget.value ? "Done" : "Keep it"}</button>
    </div>
  </${Dialog}>`;
}

export { nameOf, share };
