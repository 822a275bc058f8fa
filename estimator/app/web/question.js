// The question: what the controls, the link and files say, as `plimsoll estimate --from` reads it.
const question = (() => {
  "use strict";
  // By the settings' names with underscores, as answers have them: what somebody gave, as text. "dim.sequence"
  // is an entry of dim. `config` is the text of a file that was pasted, which the link carries; `view` and what
  // begins with "sweep" is the page's own.
  const given = new Map([["model", "builtin:resnet50"], ["gpu", "rtx-4090"]]);
  const PASTED = "config.json";
  const MOST_IN_LINK = 32768;

  const settings = () => [...given].filter(([name]) => !["config", "view"].includes(name) && !name.startsWith("sweep"));
  const value = (text) => (text === "true" ? true : text === "false" ? false : text);
  const request = (changes) => {
    const asked = {};
    for (const [name, text] of new Map([...settings(), ...Object.entries(changes)])) {
      if (text === null) continue;
      const [setting, entry] = name.split(".", 2);
      if (entry === undefined) asked[setting] = value(text);
      else asked[setting] = { ...asked[setting], [entry]: text };
    }
    return asked;
  };
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  return {
    PASTED,
    get: (name) => given.get(name) ?? "",
    set: (name, text) => { if (text === "") given.delete(name); else given.set(name, text); },
    // Of a model's own sizes: another model has others.
    forget: (prefix) => { for (const name of [...given.keys()]) if (name.startsWith(prefix)) given.delete(name); },
    // `changes`: other settings, null for none; `more`: what the document has beside them.
    text: (changes = {}, more = {}) => {
      const asked = request(changes);
      return JSON.stringify({ schema: "plimsoll.estimate", request: asked,
                              request_given: Object.keys(asked).filter((name) => name !== "model"), ...more });
    },
    link: () => new URLSearchParams([...given].filter(([, text]) => text.length <= MOST_IN_LINK)).toString(),
    fromLink: (link) => {
      const all = [...new URLSearchParams(link)];
      if (all.length === 0) return;
      given.clear();
      for (const [name, text] of all) given.set(name, text);
    },
    command: () => {
      const words = ["plimsoll", "estimate", quoted(given.get("model") ?? "")];
      for (const [name, text] of settings()) {
        if (name === "model") continue;
        const [setting, entry] = name.split(".", 2);
        words.push(`--${setting.replaceAll("_", "-")}`);
        if (text !== "true") words.push(quoted(entry === undefined ? text : `${entry}=${text}`));
      }
      return words.join(" ");
    },
  };
})();
