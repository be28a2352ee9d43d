import java.lang.reflect.Proxy;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.MapState;

/** Keyed state for one key, in maps of this JVM. A proxy, because the interface differs between versions of Flink. */
final class StateInMemory {
    private StateInMemory() {}

    static KeyedStateStore store() {
        return (KeyedStateStore)
                Proxy.newProxyInstance(
                        StateInMemory.class.getClassLoader(),
                        new Class<?>[] {KeyedStateStore.class},
                        (proxy, method, arguments) -> {
                            if (!method.getName().equals("getMapState")) {
                                throw new UnsupportedOperationException(method.getName());
                            }
                            return new Entries<Object, Object>();
                        });
    }

    private static final class Entries<K, V> implements MapState<K, V> {
        private final Map<K, V> entries = new LinkedHashMap<>();

        @Override
        public V get(K key) {
            return entries.get(key);
        }

        @Override
        public void put(K key, V value) {
            entries.put(key, value);
        }

        @Override
        public void putAll(Map<K, V> more) {
            entries.putAll(more);
        }

        @Override
        public void remove(K key) {
            entries.remove(key);
        }

        @Override
        public boolean contains(K key) {
            return entries.containsKey(key);
        }

        @Override
        public Iterable<Map.Entry<K, V>> entries() {
            return entries.entrySet();
        }

        @Override
        public Iterable<K> keys() {
            return entries.keySet();
        }

        @Override
        public Iterable<V> values() {
            return entries.values();
        }

        @Override
        public Iterator<Map.Entry<K, V>> iterator() {
            return entries.entrySet().iterator();
        }

        @Override
        public boolean isEmpty() {
            return entries.isEmpty();
        }

        @Override
        public void clear() {
            entries.clear();
        }
    }
}
