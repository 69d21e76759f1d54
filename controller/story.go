package controller

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// storyPoll is how often a follower looks at a session, which may change at any controller.
const storyPoll = 200 * time.Millisecond

// Transitions returns the story of a session, oldest first.
func (c *Controller) Transitions(ctx context.Context, id string) ([]yurt.Transition, error) {
	if _, err := c.reach.Session(ctx, id); err != nil {
		return nil, err
	}
	return c.store.Transitions(ctx, id, 0)
}

// FollowTransitions calls each with every transition of a session's story after so many, with its number, which counts from 1, and goes
// on as further ones come. It returns after the last one, when the session has ended.
func (c *Controller) FollowTransitions(ctx context.Context, id string, after int, each func(number int, t yurt.Transition) error) error {
	var seen yurt.Session
	for {
		session, err := c.reach.Session(ctx, id) // before its story, so that the story of one that has ended is whole
		if err != nil {
			return err
		}
		if session.State != seen.State || session.Reason != seen.Reason || !session.UpdatedAt.Equal(seen.UpdatedAt) {
			story, err := c.store.Transitions(ctx, id, after)
			if err != nil {
				return err
			}
			for _, transition := range story {
				after++
				if err := each(after, transition); err != nil {
					return err
				}
			}
			seen = session
		}
		if session.State.Ended() {
			return nil
		}
		life.Sleep(ctx, storyPoll)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
