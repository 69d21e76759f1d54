package start

import "testing"

// TestSlowZygoteHoldsUpOneProcess: after a zygote that was not ready in time the next processes start without
// the wait for another, and then there is another.
func TestSlowZygoteHoldsUpOneProcess(t *testing.T) {
	const language = "python"
	var z zygotes
	if z.wanted(language) == "" {
		t.Fatal("the first process gets no zygote")
	}
	z.begun(language, "")
	z.slow(language)
	for n := range zygoteRest * zygoteAfter {
		if id := z.wanted(language); id != "" {
			t.Fatalf("process %d after the slow zygote waits for %s, want none before %d", n+1, id, zygoteRest*zygoteAfter)
		}
	}
	if z.wanted(language) == "" {
		t.Errorf("there is no other zygote after %d processes", zygoteRest*zygoteAfter)
	}
}
