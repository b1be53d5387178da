// A client in TypeScript, with types from openapi.yaml: the compiler checks every path, parameter, body and answer below.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

const on = createClient<paths>({ baseUrl: process.env.CHIME_URL, headers: { Authorization: `Bearer ${process.env.CHIME_TOKEN}` } });
const demo = { collection: "demo" };

// want fails unless an answer has a status.
function want(what: string, response: Response, status: number, error?: components["schemas"]["Problem"]): void {
  if (response.status !== status) throw new Error(`${what}: got ${response.status} ${error?.code ?? ""}, want ${status}`);
}

const created = await on.PUT("/jobCollections/{collection}", { params: { path: demo }, body: { chime: { jobs: ["mail.*"] } } });
want("create a collection", created.response, 201, created.error);

const job = await on.PUT("/jobCollections/{collection}/jobs/{job}", {
  params: { path: { ...demo, job: "report" } },
  body: { recurrence: { frequency: "week", schedule: { weekDays: ["monday"], hours: [10, 22] } }, action: { type: "https", request: { uri: "https://chime.invalid/r" } } },
});
want("create a job", job.response, 201, job.error);

const one = await on.POST("/jobCollections/{collection}/tasks", {
  params: { path: demo },
  body: { job: { name: "mail.send", payload: { to: "anna" } }, id: "order-42", once: "P1D", keep: "PT1H" },
});
want("add a task", one.response, 200, one.error);
if (!one.data || !("id" in one.data) || one.data.id !== "order-42") throw new Error(`the receipt is ${JSON.stringify(one.data)}`);

const several = await on.POST("/jobCollections/{collection}/tasks", {
  params: { path: demo, header: { "Idempotency-Key": "two letters" } },
  body: { value: [{ job: { name: "mail.send" } }, { job: { name: "mail.send" }, in: "PT1H" }] },
});
want("add two tasks", several.response, 200, several.error);
if (!several.data || !("value" in several.data) || several.data.value.length !== 2) throw new Error(`the receipts are ${JSON.stringify(several.data)}`);
const later = several.data.value[1]!;

const done = await on.GET("/jobCollections/{collection}/tasks/{task}", { params: { path: { ...demo, task: "order-42" }, query: { wait: "25s" } } });
want("wait for a task", done.response, 200, done.error);
const result = done.data?.result as { sent: number[] } | undefined;
if (done.data?.state !== "done" || done.data.outcome !== "done" || result?.sent[1] !== 2) throw new Error(`the task is ${JSON.stringify(done.data)}`);

const task = { params: { path: { ...demo, task: later.id }, query: { queue: later.queue } } };
const cancelled = await on.DELETE("/jobCollections/{collection}/tasks/{task}", task);
want("cancel a task", cancelled.response, 200, cancelled.error);
const gone = await on.GET("/jobCollections/{collection}/tasks/{task}", task);
want("read what is gone", gone.response, 404);
if (gone.error?.code !== "not_found") throw new Error(`the problem is ${JSON.stringify(gone.error)}`);
const refused = await on.POST("/jobCollections/{collection}/tasks", { params: { path: demo }, body: { job: { name: "invoice" } } });
want("add a job that is not permitted", refused.response, 403);

console.log("all answers match the types");
