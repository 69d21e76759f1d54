package sandbox

import (
	"path"
	"path/filepath"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/executor/trees"
)

// ShowLayer has every process of the sandbox see the layer beside those before it. The record
// says so first, for the next executor. The caller has the gate.
func (s *Sandbox) ShowLayer(store *trees.Store, l *packages.Layer) error {
	s.mu.Lock()
	record := s.Record
	entry := InstalledLayer{l.Runtime, l.Digest}
	record.Installed = append(slices.DeleteFunc(slices.Clone(record.Installed), func(i InstalledLayer) bool { return i == entry }), entry)
	err := records.Write(s.Path(statedir.Record), record)
	if err == nil {
		s.Record = record
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	dir := s.Path(filepath.Join(broker.ViewsDir, l.Runtime))
	var list []packages.Shown
	for _, digest := range s.InstalledLayers(l.Runtime) {
		list = append(list, packages.Shown{Tree: store.Tree(digest), Mount: path.Join(packages.LayersDir, digest)})
	}
	view, err := packages.NewView(list)
	if err != nil {
		return err
	}
	if err := view.Write(dir); err != nil {
		return err
	}
	return s.mountView(l.Runtime)
}

// mountView mounts the view of a runtime's packages in the sandbox, unless it is mounted.
func (s *Sandbox) mountView(runtime string) error {
	view := broker.Tree{View: runtime}
	switch shown, err := s.Broker.Shows(s.id, view); {
	case err != nil:
		return yurt.Errorf(yurt.CodeNotSupported, "this session was made by an earlier version and cannot show packages; use a new session")
	case shown:
		return nil
	}
	if err := s.Broker.Mount(s.id, view); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "giving sandbox %s its packages: %w", s.id, err)
	}
	return nil
}
