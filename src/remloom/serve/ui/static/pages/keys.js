// Keys and audit: who may come in and do what, and who did.

import { get, post, remove, segment } from "../lib/api.js";
import { Badge, Dialog, Empty, Failure, Field, Loaded, Page, RecordLink, Table, Tabs, When } from "../lib/parts.js";
import { go, html, plain, title, useAction, useLoad, useState } from "../lib/view.js";

const VIEWS = [["keys", "Keys"], ["audit", "Audit"]];
const SCOPES = { read: "recall and look up", write: "remember and change", forget: "erase", dream: "run dreams", admin: "keys, tenants, audit", metrics: "read the numbers of the server" };
const TERMS = { "": "Never", "7d": "In a week", "30d": "In 30 days", "365d": "In a year" };

export default function Keys({ values, session }) {
  const view = values.view || "keys";
  return html`<${Page} wide heading="Keys and audit" lead="Every program, agent and person comes in with a key of their own. A key is stored as a hash, and shown once.">
    ${session.scopes.includes("admin")
      ? html`<${Tabs} label="Views" tabs=${VIEWS} chosen=${view} choose=${(name) => go("keys", [], { view: name })} />
          ${view === "keys" ? html`<${List} session=${session} />` : html`<${Audit} />`}`
      : html`<${Empty} heading="Your key may not see this">It needs the scope “admin”. Yours has ${session.scopes.join(", ")}.</${Empty}>`}
  </${Page}>`;
}

function List({ session }) {
  const state = useLoad(() => get("/v1/keys"), []);
  const [doing, setDoing] = useState(null);
  const columns = [
    { name: "Name", of: (key) => html`${plain(key.name) || html`<span class="muted">no name</span>`} ${key.id === session.key_id && html`<${Badge} kind="good">this one</${Badge}>`}` },
    { name: "Id", of: (key) => html`<code>${plain(key.id)}</code>` },
    { name: "Memory", of: (key) => plain(key.tenant) || html`<span class="muted">any</span>` },
    { name: "May", of: (key) => html`<span class="row">${key.scopes.map((scope) => html`<${Badge}>${scope}</${Badge}>`)}</span>` },
    { name: "Expires", of: (key) => (key.expires_at ? html`<${When} at=${key.expires_at} />` : html`<span class="muted">never</span>`) },
    { name: "Last used", of: (key) => (key.last_used_at ? html`<${When} at=${key.last_used_at} time />` : html`<span class="muted">never</span>`) },
    { name: "", of: (key) => html`<button class="small danger" onClick=${() => setDoing({ revoke: key })}>Revoke<span class="visually-hidden"> ${plain(key.name || key.id)}</span></button>` },
  ];
  const close = () => {
    setDoing(null);
    state.again();
  };
  return html`<div class="stack">
    <div><button class="primary" onClick=${() => setDoing({ create: true })}>Make a key</button></div>
    <${Loaded} state=${state}>${(keys) => html`<${Table} caption="Keys" columns=${columns} rows=${keys} />`}</${Loaded}>
    ${doing?.create && html`<${Create} close=${close} session=${session} />`}
    ${doing?.revoke && html`<${Revoke} apiKey=${doing.revoke} close=${close} />`}
  </div>`;
}

function Create({ close, session }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(["read"]);
  const [expires, setExpires] = useState("365d");
  const create = useAction(() => post("/v1/keys", { name, scopes, ...(session.tenant && { tenant: session.tenant }), ...(expires && { expires }) }));
  const turn = (scope) => setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  if (create.value) {
    return html`<${Dialog} heading="The new key" close=${close}>
      <p>Copy it now: it is not shown again.</p>
      <pre class="box" tabindex="0">${create.value.key}</pre>
      <div class="row"><button onClick=${close}>Done</button></div>
    </${Dialog}>`;
  }
  return html`<${Dialog} heading="Make a key" close=${close}>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); create.run(); }}>
      <${Field} label="Name" hint="Who will use it">${(given) => html`<input ...${given} required value=${name} onInput=${(event) => setName(event.target.value)} />`}</${Field}>
      <fieldset class="stack tight"><legend class="label">It may</legend>
        ${Object.entries(SCOPES).map(([scope, what]) => html`<label class="check"><input type="checkbox" checked=${scopes.includes(scope)} onChange=${() => turn(scope)} />
          <span>${title(scope)} <span class="muted small">${what}</span></span></label>`)}</fieldset>
      <${Field} label="Expires">${(given) => html`<select ...${given} value=${expires} onChange=${(event) => setExpires(event.target.value)}>
        ${Object.entries(TERMS).map(([term, text]) => html`<option value=${term} selected=${term === expires}>${text}</option>`)}</select>`}</${Field}>
      ${create.error && html`<${Failure} error=${create.error} />`}
      <div class="row"><button class="primary" disabled=${create.busy || !scopes.length}>Make it</button><button type="button" onClick=${close}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}

function Revoke({ apiKey, close }) {
  const revoke = useAction(async () => {
    await remove(`/v1/keys/${segment(apiKey.id)}`);
    close();
  });
  return html`<${Dialog} heading=${`Revoke ${plain(apiKey.name || apiKey.id)}?`} close=${close}>
    <p>Whoever uses it is let in no longer, from now on.</p>
    ${revoke.error && html`<${Failure} error=${revoke.error} />`}
    <div class="row"><button class="danger" disabled=${revoke.busy} onClick=${() => revoke.run()}>Revoke it</button><button onClick=${close}>Keep it</button></div>
  </${Dialog}>`;
}

function Audit() {
  const state = useLoad(() => get("/v1/audit", { limit: 200 }), []);
  const columns = [
    { name: "When", of: (entry) => html`<${When} at=${entry.at} time />` },
    { name: "Key", of: (entry) => html`<code>${plain(entry.key_id)}</code>` },
    { name: "What", of: (entry) => plain(entry.operation) },
    { name: "Records", of: (entry) => html`<${Concerned} ids=${entry.records} />` },
    { name: "Outcome", of: (entry) => html`<${Badge} kind=${entry.outcome === "done" ? "good" : "bad"}>${plain(entry.outcome)}</${Badge}>` },
  ];
  return html`<${Loaded} state=${state}>${(entries) => html`<${Table} caption="Who did what, the newest first" columns=${columns} rows=${entries} none="Nothing was done yet." />`}</${Loaded}>`;
}

// The first few of the records that a call concerned; their ids are long.
function Concerned({ ids }) {
  const links = ids.slice(0, 3).map((id) => html`<${RecordLink} to=${id}>${id.slice(0, 8)}</${RecordLink}> `);
  return html`<span class="mono small">${links}</span>${ids.length > 3 && html`<span class="muted small">and ${ids.length - 3} more</span>`}`;
}
