package machines

import (
	"github.com/nats-io/nats.go"
)

// fit makes a message of a reply, and keeps what does not fit in it.
func (h *Host) fit(q request, r reply, rest []byte) []byte {
	if r.Size == 0 {
		r.Size = len(rest)
		if most := piece(h.conn); len(rest) > most {
			h.mu.Lock()
			if g := h.members[q.Worker]; g != nil {
				h.serial++
				g.reply, g.serial, r.Serial = rest, h.serial, h.serial
			}
			h.mu.Unlock()
			rest = rest[:most]
		}
	}
	return encode(r, rest)
}

// piece returns how much of a message fits in one of the server's, besides its head.
func piece(conn *nats.Conn) int { return max(int(conn.MaxPayload())-headRoom, 1) }

// keep keeps a part of a large request. Parts come in their order; one that is repeated is kept once.
func (h *Host) keep(g *guest, q request, rest []byte) reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.Offset == 0 {
		g.put = nil
	}
	switch {
	case q.Size > maxMessage:
		return refused("a message of %d bytes: want at most %d", q.Size, maxMessage)
	case q.Offset < 0 || q.Offset > len(g.put) || q.Offset+len(rest) > q.Size:
		return reply{Status: statusGone}
	}
	g.put = append(g.put[:q.Offset], rest...) // nothing else has it: what takes it leaves none
	return reply{Status: statusOK}
}

// part returns a part of the worker's newest large reply.
func (h *Host) part(g *guest, q request) (reply, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.reply == nil || g.serial != q.Serial || q.Offset < 0 || q.Offset >= len(g.reply) {
		return reply{Status: statusGone}, nil
	}
	end := min(q.Offset+piece(h.conn), len(g.reply))
	return reply{Status: statusOK, Size: len(g.reply), Serial: g.serial}, g.reply[q.Offset:end]
}
