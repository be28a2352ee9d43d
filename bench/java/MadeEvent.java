/** An event that follows from its number alone; peers.py makes the same ones. */
public class MadeEvent {
    public long key;
    public int type;
    public int price;
    public long time;

    public static MadeEvent of(long number, long keys) {
        MadeEvent event = new MadeEvent();
        event.key = Long.remainderUnsigned(scramble(3 * number), keys);
        event.type = (int) Long.remainderUnsigned(scramble(3 * number + 1), 5);
        event.price = (int) Long.remainderUnsigned(scramble(3 * number + 2), 100);
        event.time = number;
        return event;
    }

    /** The finishing steps of the generator SplitMix64. */
    private static long scramble(long value) {
        long bits = (value + 1) * 0x9E3779B97F4A7C15L;
        bits = (bits ^ (bits >>> 30)) * 0xBF58476D1CE4E5B9L;
        bits = (bits ^ (bits >>> 27)) * 0x94D049BB133111EBL;
        return bits ^ (bits >>> 31);
    }

    /** FlinkCEP's buffer compares events. */
    @Override
    public boolean equals(Object other) {
        return other instanceof MadeEvent && ((MadeEvent) other).time == time;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(time);
    }
}
