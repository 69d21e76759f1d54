package mcp

import "errors"

// ToolNames lists the tools, in the order in which clients see them.
func ToolNames() []string {
	var names []string
	for _, t := range []tool{
		createSandbox(), listSandboxes(), terminateSandbox(), runCode(), runCommand(), invokeHandler(), writeFile(), readFile(),
		listFiles(), uploadFile(), downloadFile(), listTemplates(), getLogs(),
	} {
		names = append(names, t.name)
	}
	return names
}

func (s *Server) addTools() error {
	return errors.Join(
		addTool(s, createSandbox(), s.createSandbox),
		addTool(s, listSandboxes(), s.listSandboxes),
		addTool(s, terminateSandbox(), s.terminateSandbox),
		addTool(s, runCode(), s.runCode),
		addTool(s, runCommand(), s.runCommand),
		addTool(s, invokeHandler(), s.invokeHandler),
		addTool(s, writeFile(), s.writeFile),
		addTool(s, readFile(), s.readFile),
		addTool(s, listFiles(), s.listFiles),
		addTool(s, uploadFile(), s.uploadFile),
		addTool(s, downloadFile(), s.downloadFile),
		addTool(s, listTemplates(), s.listTemplates),
		addTool(s, getLogs(), s.getLogs),
	)
}
