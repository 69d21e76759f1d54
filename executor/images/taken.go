package images

// Taken returns how much disk the images take, and how much they may.
func (s *Store) Taken() (bytes, limit int64, err error) { return s.trees.Taken() }
