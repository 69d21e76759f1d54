package packages

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestNodePackagesInContexts: packages in CommonJS and in ES modules, for one execution or of the
// template, by require and by import, and in later executions.
func TestNodePackagesInContexts(t *testing.T) {
	e := node(t)
	for _, language := range []string{"javascript", "typescript"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := sandbox(t, e, language)
			for _, cell := range []struct {
				code, stdout string
				needs        []string
			}{
				{
					code:  "import ms from 'ms'; import { nanoid } from 'nanoid'; import * as random from 'nanoid/non-secure'; const { default: again } = await import('ms')\nconsole.log(ms('1s'), nanoid().length, typeof random.nanoid, again === ms)",
					needs: []string{"ms@2.1.3", "nanoid@5.0.7", "dayjs@1.11.10"}, stdout: "1000 21 function true\n",
				},
				{code: "const ms = require('ms'); console.log(ms('2s'), nanoid(5).length)", stdout: "2000 5\n"},
				// A file of a package that its exports do not hide, without its extension.
				{
					code: "import dayjs from 'dayjs'; import utc from 'dayjs/plugin/utc'\ndayjs.extend(utc); console.log(dayjs.utc(0).format('YYYY'))", stdout: "1970\n",
					needs: []string{"ms@2.1.3", "nanoid@5.0.7", "dayjs@1.11.10"},
				},
				{code: "import * as dayjs from 'ms'; console.log(typeof dayjs.default)", stdout: "function\n", needs: []string{"ms@2.1.3"}},
			} {
				o := run(t, e, s, yurt.ExecutionSpec{Language: language, ContextName: yurt.DefaultContext, Code: cell.code, Dependencies: cell.needs})
				wantOutput(t, o, cell.stdout)
			}
			r := run(t, e, s, yurt.ExecutionSpec{Language: language, ContextName: yurt.DefaultContext, Code: "import none from 'yurt-no-such-package-7f3a'"})
			if r.Error == nil || r.Error.Message != "Cannot find package 'yurt-no-such-package-7f3a' imported from /workspace/main.js" {
				t.Errorf("a package that is not there: %+v", r.Error)
			}
		})
	}
}
