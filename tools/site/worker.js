// Browsers start no worker for pages from a disk, and the search needs one: there it runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      const load = (from) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: new URL(from, document.baseURI).href, onload: done, onerror: failed });
        inside.document.head.append(script);
      });
      inside.importScripts = async (...all) => { for (const one of all) await load(one); };
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.inside = inside;
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
