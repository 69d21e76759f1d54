package driver

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestAnswerToAGap: a caller of nomad alloc exec reads on stderr how much of its output is lost, and hears of no end.
func TestAnswerToAGap(t *testing.T) {
	answers := answersTo(yurt.Event{Seq: 17, Type: yurt.EventGap, Gap: &yurt.Gap{From: 3, To: 17}})
	if len(answers) != 1 || !strings.HasSuffix(string(answers[0].GetStderr().GetData()), ": 15\n") || answers[0].GetExited() {
		t.Errorf("the answers are %v, want one line on stderr about 15 pieces", answers)
	}
}
