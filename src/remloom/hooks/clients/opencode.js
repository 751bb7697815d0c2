// Remloom: what was decided is kept, and brought back. `remloom uninstall opencode` removes this.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const HOOK = ["HOOK"]
const DATA = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")

function ask(event, payload) {
  return new Promise((resolve) => {
    try {
      const child = spawn(HOOK[0], [...HOOK.slice(1), event], {
        cwd: payload.directory,
        stdio: ["pipe", "pipe", "ignore"],
        timeout: 5000,
      })
      let printed = ""
      child.on("error", () => resolve(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => { printed += part })
      child.on("close", () => {
        try { resolve(JSON.parse(printed).text || "") } catch { resolve("") }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch { resolve("") }
  })
}

export const Remloom = async ({ directory }) => {
  const given = new Map() // by session, what its model is told
  const said = (sessionID) => ({
    sessionID, directory, transcript_path: join(DATA, "opencode", "opencode.db"),
  })
  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const own = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = own.map((part) => part.text).join("\n")
      if (!given.has(sessionID)) given.set(sessionID, [await ask("start", said(sessionID))])
      given.get(sessionID).push(await ask("chat.message", { ...said(sessionID), prompt }))
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      system.push(...(given.get(sessionID) || []).filter(Boolean))
    },
    event: async ({ event }) => {
      const { type, properties } = event
      if (type !== "session.idle" && type !== "session.compacted") return
      await ask(type, said(properties.sessionID))
      if (type === "session.compacted") given.delete(properties.sessionID)
    },
  }
}
