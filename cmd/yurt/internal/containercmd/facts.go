package containercmd

import (
	"strconv"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// factsOf lists the facts of a sandbox that a person wants to see, in that order.
func factsOf(s yurt.Sandbox, health yurt.SandboxHealth, now time.Time) [][2]string {
	facts := [][2]string{
		{"id", s.ID},
		{"template", s.Template},
		{"node", s.Node},
		{"session", owner(s)},
		{"created", s.CreatedAt.Local().Format(time.DateTime) + ", " + screen.Ago(s.CreatedAt, now) + " ago"},
		{"state", string(health.State)},
	}
	add := func(name, value string) { facts = append(facts, [2]string{name, value}) }
	if health.Reason != "" {
		add("reason", health.Reason)
	}
	answers := "does not answer"
	if health.InitAnswers {
		answers = "answers in " + cli.InMS(health.InitMS)
	}
	add("init", answers)
	add("out of memory", strconv.FormatInt(health.OOMKills, 10)+" processes ended")
	if u := health.Usage; u != nil {
		add("memory", screen.Size(u.MemoryBytes)+" of "+screen.Size(u.MemoryLimitBytes))
		add("disk", screen.Size(u.DiskBytes)+" of "+screen.Size(u.DiskLimitBytes))
		add("processes", strconv.Itoa(u.PIDs)+" of "+strconv.Itoa(u.PIDsLimit))
		add("CPU", screen.Number(u.CPUSeconds, 2)+" s, limit "+screen.Number(u.CPULimit, 2))
	}
	return facts
}
