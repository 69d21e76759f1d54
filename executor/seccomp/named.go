package seccomp

func ptrace() Group {
	return Group{
		Name: Ptrace,
		Reason: "Debuggers (gdb, strace, lldb, delve) look into other processes of the sandbox and change them. The code in the kernel for it is old and large, " +
			"has had flaws, and most programs never use it.",
		Rules: []Rule{allow("ptrace", "process_vm_readv", "process_vm_writev")},
	}
}

func perfSelf() Group {
	return Group{
		Name: PerfSelf,
		Reason: "Profilers count events of their own process, on any processor. What may be counted is the host's setting perf_event_paranoid to say. " +
			"Counters are charged in part: a sandbox with many processes can take some of the host's memory by them.",
		Rules: slicesOf(
			[]Rule{allowIf("perf_event_open", is(1, 0))},
			each(Allow, "ioctl", 1, []uint64{0x2400, 0x2401, 0x2402, 0x2403, 0x40082404, 0x2405, 0x80082407, 0x40042409}),
		),
	}
}

// devices allows every request but those of terminals, of which the base list has its own: the type
// of a request, its second byte, is any but 'T'. There is one rule for each bit in which it can differ first.
func devices() Group {
	const terminal, first, last = uint64('T'), 15, 8
	var rules []Rule
	for bit := first; bit >= last; bit-- {
		mask := uint64(0xffff) &^ (1<<bit - 1)
		value := (terminal<<8 ^ 1<<bit) & mask
		rules = append(rules, Rule{Calls: []string{"ioctl"}, When: []Condition{{Arg: 1, Mask: mask & 0xff00, Value: value & 0xff00}}})
	}
	return Group{
		Name:   Devices,
		Reason: "A task that was given devices of the node makes the requests that their drivers define.",
		Rules:  rules,
	}
}
