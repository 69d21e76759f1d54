package main

import "time"

// isolated is a pause after which the kernel has come to rest, as between requests
// of a server that is not overloaded.
const isolated = 60 * time.Millisecond

// megabyte is 10⁶ bytes, in the KiB of rows about memory.
const megabyte = 1e6 / 1024.0

// nodeBenches are the rows of the executor. Each row has the goal that it is held to.
func nodeBenches() []bench {
	return []bench{
		{
			name: "sandbox-create", n: 60, pause: isolated, prepare: sandboxCreate,
			goal: goal{"p50 ≤ 15 ms, ≥ 3 × faster than runc", func(r Row) bool { return r.P50 <= 15 && r.Peers["runc"].Ratio >= 3 }},
		},
		{
			name: "sandbox-create-rate", n: 400, measure: sandboxCreateRate,
			goal: goal{"≥ 100/s on 2 cores", func(r Row) bool { return r.Value >= 100 }},
		},
		{
			name: "sandbox-claim", n: 60, pause: isolated, prepare: sandboxClaim,
			goal: goal{"p50 ≤ 1.5 ms", func(r Row) bool { return r.P50 <= 1.5 }},
		},
		{
			name: "sandbox-exec", n: 200, pause: isolated, prepare: sandboxExec,
			goal: goal{"≤ 1.6 × fork+exec", func(r Row) bool { return r.P50 <= 1.6*r.Peers["fork+exec"].P50 }},
		},
		{
			name: "sandbox-destroy", n: 60, pause: isolated, prepare: sandboxDestroy,
			goal: goal{"p50 ≤ 2 ms for the caller", func(r Row) bool { return r.P50 <= 2 }},
		},
		{
			name: "sandbox-memory", n: 1000, measure: sandboxMemory,
			goal: goal{"≤ 2 MB each; create at the end ≤ 2 × at 10", func(r Row) bool { return r.Value <= 2*megabyte && r.Growth <= 2 }},
		},
		{
			name: "stdout-throughput", n: 10, pause: isolated, prepare: stdoutThroughput,
			goal: goal{"1 GB in ≤ 1000 ms", func(r Row) bool { return r.P50 <= 1000 }},
		},
	}
}

// doorBenches are the rows of the API and its clients.
func doorBenches() []bench {
	return []bench{
		{name: "rest-command", n: 200, pause: isolated, prepare: restCommand, goal: goal{"p50 ≤ 4 ms", func(r Row) bool { return r.P50 <= 4 }}},
		{
			name: "fair-share", n: 100, measure: fairShare,
			goal: goal{"1,000 creates of a tenant delay another's by ≤ 2", func(r Row) bool { return r.P50 <= 2*r.Peers[crowdPeer].P50 }},
		},
		{
			name: "create-keyed", n: 200, pause: isolated, prepare: createKeyed,
			goal: goal{"p50 ≤ without a key + 0.3 ms", func(r Row) bool { return r.P50 <= r.Peers[keylessPeer].P50+0.3 }},
		},
		{
			name: "sdk-python", n: 200, pause: isolated, prepare: sdkPython,
			goal: goal{"p50 ≤ a raw request + 1 ms", func(r Row) bool { return r.P50 <= r.Peers["http.client"].P50+1 }},
		},
		{
			name: "sdk-typescript", n: 200, pause: isolated, prepare: sdkTypescript,
			goal: goal{"p50 ≤ a raw request + 0.5 ms", func(r Row) bool { return r.P50 <= r.Peers["fetch"].P50+0.5 }},
		},
		{
			name: "mcp-run-code", n: 200, pause: isolated, prepare: mcpRunCode,
			goal: goal{"p50 ≤ the same by REST + 1.5 ms", func(r Row) bool { return r.P50 <= r.Peers["REST"].P50+1.5 }},
		},
	}
}

// pythonBenches are the rows of Python and of handlers.
func pythonBenches() []bench {
	return []bench{
		{
			name: "python-stateless", n: 100, pause: isolated, prepare: restCodePython,
			goal: goal{"p50 ≤ 8 ms, and ≤ python3 -c + 1 ms", func(r Row) bool { return r.P50 <= 8 && r.P50 <= r.Peers["python3 -c"].P50+1 }},
		},
		{
			name: "python-preloaded", n: 60, pause: isolated, prepare: pythonPreloaded,
			goal: goal{"p50 ≤ 15 ms with numpy and pandas", func(r Row) bool { return r.P50 <= 15 }},
		},
		{name: "handler-python", n: 200, pause: isolated, prepare: handlerPython},
		{name: "handler-node", n: 200, pause: isolated, prepare: handlerNode},
		{name: "lambda-python", n: 200, pause: isolated, prepare: lambdaPython, goal: goal{"p50 ≤ 3 ms", func(r Row) bool { return r.P50 <= 3 }}},
		{name: "lambda-node", n: 200, pause: isolated, prepare: lambdaNode, goal: goal{"p50 ≤ 3 ms", func(r Row) bool { return r.P50 <= 3 }}},
	}
}

// kernelBenches are the rows about contexts.
func kernelBenches() []bench {
	return []bench{
		{
			name: "kernel-memory", n: 40, measure: kernelMemory,
			goal: goal{"≤ 12 MB each, ≤ 3 of it a forked kernel", func(r Row) bool { return r.Value <= 12*megabyte && r.Peers[kernelAlone].Value <= 3*megabyte }},
		},
		{
			name: "python-stateful", n: 200, pause: isolated, prepare: pythonStateful,
			goal: goal{"p50 ≤ 3 ms, ≥ 3 × faster than ipykernel", func(r Row) bool { return r.P50 <= 3 && r.Peers["ipykernel"].Ratio >= 3 }},
		},
		{
			name: "python-ipython", n: 200, pause: isolated, prepare: pythonIPython,
			goal: goal{"≤ 1.2 × the own kernel", func(r Row) bool { return r.P50 <= 1.2*r.Peers["own kernel"].P50 }},
		},
		{
			name: "first-plot", n: 10, prepare: firstPlot,
			goal: goal{"p50 ≤ 150 ms", func(r Row) bool { return r.P50 <= 150 }},
		},
		{name: "python-ipykernel", n: 200, pause: isolated, prepare: pythonIPykernel},
		{
			name: "typescript-stateful", n: 200, pause: isolated, prepare: typescriptStateful,
			goal: goal{"p50 ≤ JavaScript's + 3 ms", func(r Row) bool { return r.P50 <= r.Peers["javascript"].P50+3 }},
		},
	}
}

// nomadBenches are the rows about Nomad's tasks, beside its own drivers on the same agent.
func nomadBenches() []bench {
	return []bench{
		{
			name: "nomad-start", n: 40, measure: nomadStart,
			goal: goal{"p50 ≤ 60 ms, ≥ 2.5 × faster than raw_exec", func(r Row) bool { return r.P50 <= 60 && r.Peers["raw_exec"].Ratio >= 2.5 }},
		},
		{
			name: "nomad-memory", n: 20, measure: nomadMemory,
			goal: goal{"≤ a tenth of exec's", func(r Row) bool { return r.Value <= r.Peers["exec"].Value/10 }},
		},
		{
			name: "nomad-burst", n: 200, measure: nomadBurst,
			goal: goal{"≥ 3 × raw_exec's starts a second", func(r Row) bool { return r.Value >= 3*r.Peers["raw_exec"].Value }},
		},
	}
}

// clusterBenches are the rows about a cluster: real Nomad, Consul and driver.
func clusterBenches() []bench {
	return []bench{
		{
			name: "cluster-create-warm", n: 100, pause: isolated, prepare: clusterCreateWarm,
			goal: goal{"p50 ≤ 4 ms, p99 ≤ 15 ms", func(r Row) bool { return r.P50 <= 4 && r.P99 <= 15 }},
		},
		{
			name: "cluster-create-cold", n: 40, pause: isolated, prepare: clusterCreateCold,
			goal: goal{"p50 ≤ 60 ms", func(r Row) bool { return r.P50 <= 60 }},
		},
		{
			name: "cluster-tti", n: 100, pause: isolated, prepare: clusterTTI,
			goal: goal{"p50 ≤ 8 ms", func(r Row) bool { return r.P50 <= 8 }},
		},
		{
			name: "cluster-burst", n: 100, measure: clusterBurst,
			goal: goal{"100 at once, 50 warm: ≤ 2000 ms", func(r Row) bool { return r.Value <= 2000 }},
		},
		{
			name: "cluster-rate", n: 600, measure: clusterRate,
			goal: goal{"≥ 60/s on 2 cores", func(r Row) bool { return r.Value >= 60 }},
		},
		{
			name: "controller-cpu", n: 300, measure: controllerCPU,
			goal: goal{"≤ 1 ms", func(r Row) bool { return r.Value <= 1 }},
		},
	}
}
