package wire

import (
	"context"
	"os"

	"github.com/yurtrun/yurt/executor/broker"
)

type findLayout struct {
	Layout string `json:"layout"`
}

func (r *findLayout) do(_ context.Context, by broker.Broker) (reply, error) {
	dir, err := by.FindLayout(r.Layout)
	return reply{value: dir}, err
}

type openLayout struct {
	Layout string `json:"layout"`
	Blob   string `json:"blob,omitempty"`
}

func (r *openLayout) do(_ context.Context, by broker.Broker) (reply, error) {
	return passed(by.OpenLayout(r.Layout, r.Blob))
}

type openCredentials struct{}

func (*openCredentials) do(_ context.Context, by broker.Broker) (reply, error) {
	return passed(by.OpenCredentials())
}

// FindLayout implements [imagefiles.Requests].
func (c *Client) FindLayout(dir string) (string, error) {
	var found string
	err := c.value(context.Background(), kindFindLayout, &findLayout{dir}, &found)
	return found, err
}

// OpenLayout implements [imagefiles.Requests].
func (c *Client) OpenLayout(dir, blob string) (*os.File, error) {
	return c.file(kindOpenLayout, &openLayout{dir, blob})
}

// OpenCredentials implements [imagefiles.Requests].
func (c *Client) OpenCredentials() (*os.File, error) {
	return c.file(kindOpenCredentials, &openCredentials{})
}
