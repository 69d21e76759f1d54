package broker

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// list is the broker's own list of the sandboxes whose cgroups it or a broker before it has made. Requests reach no others.
type list struct {
	mu        sync.Mutex
	sandboxes map[string]*listed // by id
}

// listed is a sandbox with the runs that this broker has made in it. Runs that an earlier broker made are found in the cgroup itself.
type listed struct {
	id    string
	group cgroup.Group

	mu     sync.Mutex
	init   procid.ID       // zero until it is looked for, see findInit
	limits *yurt.Resources // nil for a sandbox of an earlier broker
	runs   map[string]*listedRun
	places map[string]cgroup.Place
	left   []string // see leave

	nexts sync.Mutex  // held while ahead changes
	ahead cgroup.Leaf // of the next run, whose files the executor has; may be nil
}

// listedRun is the cgroup of a run.
type listedRun struct {
	place string // that it has taken; may be ""

	mu   sync.Mutex  // held for each change
	leaf cgroup.Leaf // nil if it could not be made
}

func newListed(id string, group cgroup.Group) *listed {
	return &listed{id: id, group: group, runs: make(map[string]*listedRun), places: make(map[string]cgroup.Place)}
}

// keep enters a sandbox that was started.
func (l *list) keep(id string, group cgroup.Group, init procid.ID, limits yurt.Resources) *listed {
	l.drop(id)
	s := newListed(id, group)
	s.init, s.limits = init, &limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sandboxes == nil {
		l.sandboxes = make(map[string]*listed)
	}
	l.sandboxes[id] = s
	return s
}

// drop takes a sandbox off the list and closes the files that were opened ahead for it.
func (l *list) drop(id string) {
	l.mu.Lock()
	s := l.sandboxes[id]
	delete(l.sandboxes, id)
	l.mu.Unlock()
	if s != nil {
		s.group.Close()
	}
}

// clear drops all sandboxes.
func (l *list) clear() {
	l.mu.Lock()
	all := l.sandboxes
	l.sandboxes = nil
	l.mu.Unlock()
	for _, s := range all {
		s.group.Close()
	}
}

func checkSandbox(id string) error {
	if !yurt.ValidID(yurt.SandboxIDPrefix, id) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "sandbox_id", "%.200q is no id of a sandbox; an id begins with %q", id, yurt.SandboxIDPrefix)
	}
	return nil
}

// sandbox finds a sandbox on the list. One that an earlier broker has made is entered.
func (l *Local) sandbox(id string) (*listed, error) {
	if err := checkSandbox(id); err != nil {
		return nil, err
	}
	l.list.mu.Lock()
	defer l.list.mu.Unlock()
	if s := l.list.sandboxes[id]; s != nil {
		return s, nil
	}
	there, err := l.Cgroups.Has(id)
	if err != nil {
		return nil, fmt.Errorf("finding the cgroup of sandbox %s: %w", id, err)
	}
	if !there {
		return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s has no cgroup on this node", id)
	}
	if l.list.sandboxes == nil {
		l.list.sandboxes = make(map[string]*listed)
	}
	s := newListed(id, l.Cgroups.Open(id))
	l.list.sandboxes[id] = s
	return s, nil
}

// initOf finds the init of a sandbox.
func (l *Local) initOf(sandboxID string) (procid.ID, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return procid.ID{}, err
	}
	return s.findInit()
}

// findInit returns the process that this broker has started as init. That of a broker before it is the process in init's cgroup. Its
// number is read twice: it may have become another process's in between.
func (s *listed) findInit() (procid.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init != (procid.ID{}) {
		return s.init, nil
	}
	pid, err := s.group.Init()
	if err != nil {
		return procid.ID{}, errors.Join(gone(s.id), err)
	}
	init, err := procid.Of(pid)
	if err != nil {
		return procid.ID{}, errors.Join(gone(s.id), err)
	}
	if again, err := s.group.Init(); err != nil || again != pid {
		return procid.ID{}, errors.Join(gone(s.id), err)
	}
	s.init = init
	return init, nil
}

// withRun finds a run, and does something with its cgroup while no other request about the run does.
func (s *listed) withRun(id string, do func(cgroup.Leaf) error) error {
	r, err := s.run(id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaf == nil {
		return s.missing(id)
	}
	return do(r.leaf)
}

func (s *listed) run(id string) (*listedRun, error) {
	if err := checkRun(id); err != nil {
		return nil, err
	}
	if r := s.made(id); r != nil {
		return r, nil
	}
	leaf, err := s.group.Find(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, s.missing(id)
	}
	if err != nil {
		return nil, err
	}
	return &listedRun{leaf: leaf}, nil
}

// made returns a run that this broker has made; nil for another.
func (s *listed) made(id string) *listedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

func (s *listed) missing(run string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "sandbox %s has no run %s", s.id, run)
}

// begin enters a run that is about to be made, and is locked until then. A run may leave its place for a cgroup of its own.
func (s *listed) begin(request RunRequest) (*listedRun, error) {
	if err := checkRun(request.ID); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := s.runs[request.ID]; had != nil && (had.place == "" || request.Place != "") {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "execution_id", "sandbox %s has a run %s already; end it first", s.id, request.ID)
	}
	r := &listedRun{place: request.Place}
	r.mu.Lock()
	s.runs[request.ID] = r
	return r, nil
}

// forget takes a run off the list.
func (s *listed) forget(id string, r *listedRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[id] == r {
		delete(s.runs, id)
	}
}

// place finds a place of this broker's.
func (s *listed) place(id string) (cgroup.Place, error) {
	if err := checkRun(id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if place := s.places[id]; place != nil {
		return place, nil
	}
	return nil, s.missing(id)
}

// setPlace enters a place, or takes it off with nil.
func (s *listed) setPlace(id string, place cgroup.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place == nil {
		delete(s.places, id)
		return
	}
	s.places[id] = place
}
