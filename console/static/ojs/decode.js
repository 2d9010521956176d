// Ask the codec server for the plaintext of a job's values. It stays in this page.
"use strict";

(async () => {
  const facts = document.getElementById("decoding");
  if (!facts) return;
  const { url, token, values } = JSON.parse(facts.textContent);
  const status = document.getElementById("decoded");
  const fail = (message) => {
    status.textContent = `Not decoded: ${message}`;
    status.className = "problem";
  };
  const text = (encoded) =>
    new TextDecoder().decode(Uint8Array.from(atob(encoded), (one) => one.codePointAt(0)));
  const pretty = (plain) => {
    try {
      return JSON.stringify(JSON.parse(plain), null, 2);
    } catch {
      return plain;
    }
  };
  try {
    const answer = await fetch(url, {
      method: "POST",
      mode: "cors",
      credentials: "omit",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ payloads: values.map(({ data, metadata }) => ({ data, metadata })) }),
    });
    const body = await answer.json();
    if (!answer.ok) {
      fail(body.error.message);
      return;
    }
    body.payloads.forEach((payload, place) => {
      document.querySelector(`[data-ojs-value="${place}"]`).textContent = pretty(text(payload.data));
    });
    status.textContent = "Decoded in this browser. The audit log names you and the reason.";
  } catch {
    fail(`the codec server ${new URL(url).origin} does not answer`);
  }
})();
