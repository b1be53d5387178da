package svg

// draw adds a cell's shape to the layers. Cells of different colour also have different shapes. Only the depth has none: the table has its numbers.
func (c *cell) draw(l *layers, x, y, width, height float64, level int) {
	switch {
	case c.look == blank:
		return
	case c.look == unknown:
		l.pen("unknown").hatch(x, y, width, height, 4)
	case c.look == skipped: // a dash: the clock skips it
		l.pen("skipped").do("M", x+width/2-3, y+height/2)
		l.pen("skipped").do("h", 6)
	case c.look == coming:
		l.pen("next n"+integer(int64(level+1)/2)).rect(x+1.5, y+1.5, width-3, height-3)
	case c.worst == Fail:
		l.pen("cell fail").rect(x, y, width, height)
		l.pen("hatch").hatch(x, y, width, height, 4)
	case c.worst == Missed: // a ring
		l.pen("ring missed").dot(x+width/2, y+height/2, min(width, height)/2-1)
	case c.worst == Late: // one corner is cut off
		p := l.pen("cell late")
		p.do("M", x, y)
		p.do("h", width)
		p.do("v", height/2)
		p.do("l", -width/2, height/2)
		p.do("H", x)
		p.do("z")
	case c.worst == Off, c.worst == Paused: // small
		l.pen("cell off").rect(x+width/4, y+height/4, width/2, height/2)
	default:
		l.pen("h"+integer(int64(level))).rect(x, y, width, height)
	}
}
