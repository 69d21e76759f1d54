package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/layers"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
)

// maxLayers bounds how many layers a sandbox can have.
const maxLayers = 64

// MountLayers mounts each of the layers that is not mounted. The caller has the gate.
func (s *Sandbox) MountLayers(store *layers.Store, needs packages.Layers) error {
	for _, l := range needs {
		if err := s.MountLayer(store, l); err != nil {
			return err
		}
	}
	return nil
}

// MountLayer mounts the layer in the sandbox, if it is not. The caller has the gate. That
// the sandbox uses the layer is on the disk first: a next executor is to hold it too.
func (s *Sandbox) MountLayer(store *layers.Store, l *packages.Layer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, mounted := s.mounted[l.Digest]; mounted {
		return nil
	}
	if len(s.mounted) >= maxLayers {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "dependencies", "the session has used %d different lists of packages, as many as it may; put what it needs into one list, or use another session", maxLayers)
	}
	if there, err := store.Use(l.Digest, s.id); err != nil || !there {
		return errors.Join(packages.Removed(), err)
	}
	if !slices.Contains(s.Record.Layers, l.Digest) {
		record := s.Record
		record.Layers = append(slices.Clone(record.Layers), l.Digest)
		if err := records.Write(s.Path(RecordFile), record); err != nil {
			return err
		}
		s.Record = record
	}
	if _, _, err := s.Plans.MakeDir(path.Join("layers", l.Digest), 0o755); err != nil {
		return fmt.Errorf("making the place of a layer: %w", err)
	}
	if err := s.Broker.Mount(s.Named(), broker.Tree{Layer: l.Digest}); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "giving sandbox %s its packages: %w", s.id, err)
	}
	s.noteMounted(l.Digest)
	return nil
}

// noteMounted is for the holder of s.mu, or before others know the sandbox.
func (s *Sandbox) noteMounted(digest string) {
	if s.mounted == nil {
		s.mounted = make(map[string]struct{})
	}
	s.mounted[digest] = struct{}{}
}

// AdoptLayers holds the layers of a sandbox that is taken over. One that was written down
// and not mounted yet is mounted when it is needed.
func (s *Sandbox) AdoptLayers(store *layers.Store) error {
	for _, digest := range s.Record.Layers {
		there, err := store.Use(digest, s.id)
		if err != nil {
			return err
		}
		shown, err := s.Broker.Shows(s.Named(), broker.Tree{Layer: digest})
		if shown && there && err == nil {
			s.noteMounted(digest)
		}
	}
	return nil
}

// InstalledLayers returns the layers that commands of the session had installed for a runtime, the
// latest first.
func (s *Sandbox) InstalledLayers(runtime string) (digests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range slices.Backward(s.Record.Installed) {
		if l.Runtime == runtime {
			digests = append(digests, l.Digest)
		}
	}
	return digests
}

// TemplateLayer returns the packages of the template for code in the language, as far as the sandbox has asked for
// them: at most one layer.
func (s *Sandbox) TemplateLayer(language string) packages.Layers {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.Planned {
		if l.Runtime == language {
			return s.Planned[i : i+1]
		}
	}
	return nil
}

// HasLayers reports whether the layers are in the sandbox.
func (s *Sandbox) HasLayers(layers packages.Layers) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(layers, func(l *packages.Layer) bool {
		_, mounted := s.mounted[l.Digest]
		return !mounted
	})
}
